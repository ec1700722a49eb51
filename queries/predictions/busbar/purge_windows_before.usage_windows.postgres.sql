-- verb: purge_windows_before
-- table: usage_windows
-- about: rows of usage_windows that go, each by its key.
-- applies: busbar postgres 6-11
-- params: cutoff hugeint
SELECT 'usage_windows' AS table_name, [bucket_id, CAST(window_start AS VARCHAR)] AS key, 'usage_windows' AS population, bucket_id AS scope,
    CAST(NULL AS HUGEINT) AS seq, CAST(window_start AS HUGEINT) AS ts, 'predicate' AS why
FROM raw.usage_windows WHERE window_start < $cutoff
