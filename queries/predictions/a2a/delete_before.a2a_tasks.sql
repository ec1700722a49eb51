-- verb: delete_before
-- table: a2a_tasks
-- about: rows of a2a_tasks that go, each by its key.
-- applies: a2a postgres 1-3, a2a postgres 11-14
-- params: cutoff hugeint
SELECT 'a2a_tasks' AS table_name, [id] AS key, 'a2a_tasks' AS population, id AS scope,
    CAST(NULL AS HUGEINT) AS seq, CASE WHEN ends_with(updated_at, '+00') THEN CAST(floor(epoch(TRY_CAST(left(updated_at, length(updated_at) - 3) AS TIMESTAMP))) AS HUGEINT) END AS ts, 'predicate' AS why
FROM raw.a2a_tasks WHERE (CASE WHEN updated_at = '-infinity' OR ends_with(updated_at, ' BC') THEN true
        WHEN ends_with(updated_at, '+00') THEN epoch(TRY_CAST(left(updated_at, length(updated_at) - 3) AS TIMESTAMP)) < $cutoff ELSE false END)
