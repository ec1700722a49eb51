-- verb: purge_windows_before
-- table: usage_ledger_units
-- about: rows of usage_ledger_units that go, each by its key.
-- applies: busbar postgres 10-11
-- params: cutoff hugeint
SELECT 'usage_ledger_units' AS table_name, [bucket_id, CAST(window_start AS VARCHAR), model, unit] AS key, 'usage_ledger_units' AS population, bucket_id AS scope,
    CAST(NULL AS HUGEINT) AS seq, CAST(window_start AS HUGEINT) AS ts, 'predicate' AS why
FROM raw.usage_ledger_units WHERE window_start < $cutoff
