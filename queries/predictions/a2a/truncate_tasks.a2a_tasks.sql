-- verb: truncate_tasks
-- table: a2a_tasks
-- about: rows of a2a_tasks that go, each by its key.
-- applies: a2a postgres 1-2, a2a postgres 11-14
-- params: none
SELECT 'a2a_tasks' AS table_name, [id] AS key, 'a2a_tasks' AS population, id AS scope,
    CAST(NULL AS HUGEINT) AS seq, CASE WHEN ends_with(updated_at, '+00') THEN CAST(floor(epoch(TRY_CAST(left(updated_at, length(updated_at) - 3) AS TIMESTAMP))) AS HUGEINT) END AS ts, 'predicate' AS why
FROM raw.a2a_tasks
