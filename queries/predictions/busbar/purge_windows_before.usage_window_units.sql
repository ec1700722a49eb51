-- verb: purge_windows_before
-- table: usage_window_units
-- about: rows of usage_window_units that go, each by its key.
-- applies: busbar sqlite 10-12
-- params: cutoff hugeint
SELECT 'usage_window_units' AS table_name, [CAST(window_start AS VARCHAR), bucket_id, model, unit] AS key, 'usage_window_units' AS population, bucket_id AS scope,
    CAST(NULL AS HUGEINT) AS seq, CAST(window_start AS HUGEINT) AS ts, 'predicate' AS why
FROM raw.usage_window_units WHERE window_start < $cutoff
