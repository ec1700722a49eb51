-- verb: purge_metering_before
-- table: usage_metering
-- about: rows of usage_metering that go, each by its key: those of exactly one bucket.
-- applies: busbar sqlite 10-12
-- params: bucket varchar
SELECT 'usage_metering' AS table_name, [bucket, key_id, provider, model, CAST(priced_from_ms AS VARCHAR)] AS key, 'usage_metering' AS population, key_id AS scope,
    CAST(NULL AS HUGEINT) AS seq, TRY_CAST(bucket AS HUGEINT) AS ts, 'predicate' AS why
FROM raw.usage_metering WHERE bucket = $bucket
