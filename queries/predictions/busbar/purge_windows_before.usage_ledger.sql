-- verb: purge_windows_before
-- table: usage_ledger
-- about: rows of usage_ledger that go, each by its key.
-- applies: busbar postgres 6-11
-- params: cutoff hugeint
SELECT 'usage_ledger' AS table_name, [bucket_id, CAST(window_start AS VARCHAR), model] AS key, 'usage_ledger' AS population, bucket_id AS scope,
    CAST(NULL AS HUGEINT) AS seq, CAST(window_start AS HUGEINT) AS ts, 'predicate' AS why
FROM raw.usage_ledger WHERE window_start < $cutoff
