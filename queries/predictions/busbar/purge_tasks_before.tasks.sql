-- verb: purge_tasks_before
-- table: tasks
-- about: rows of tasks that go, each by its key.
-- applies: busbar sqlite 8-9
-- params: cutoff hugeint
SELECT 'tasks' AS table_name, [task_id] AS key, 'tasks' AS population, task_id AS scope,
    CAST(NULL AS HUGEINT) AS seq, CAST(updated_at AS HUGEINT) AS ts, 'predicate' AS why
FROM raw.tasks WHERE updated_at < $cutoff AND state IN ('completed', 'failed', 'canceled', 'rejected')
