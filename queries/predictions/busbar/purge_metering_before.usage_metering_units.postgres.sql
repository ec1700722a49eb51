-- verb: purge_metering_before
-- table: usage_metering_units
-- about: rows of usage_metering_units that go, each by its key: those of exactly one bucket.
-- applies: busbar postgres 10-11
-- params: bucket hugeint
SELECT 'usage_metering_units' AS table_name, [key_id, CAST(bucket AS VARCHAR), model, provider, CAST(priced_from_ms AS VARCHAR), unit] AS key, 'usage_metering_units' AS population, key_id AS scope,
    CAST(NULL AS HUGEINT) AS seq, CAST(bucket AS HUGEINT) AS ts, 'predicate' AS why
FROM raw.usage_metering_units WHERE bucket = $bucket
