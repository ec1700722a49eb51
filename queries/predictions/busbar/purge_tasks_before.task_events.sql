-- verb: purge_tasks_before
-- table: task_events
-- about: rows of task_events that go, each by its key.
-- applies: busbar sqlite 8-9
-- params: cutoff hugeint
-- needs: tasks_cascade_events
SELECT 'task_events' AS table_name, [task_id, CAST(seq AS VARCHAR)] AS key, 'task_events' AS population, task_id AS scope,
    CAST(seq AS HUGEINT) AS seq, CAST(ts AS HUGEINT) AS ts, 'cascade' AS why
FROM raw.task_events WHERE task_id IN (SELECT task_id FROM raw.tasks WHERE updated_at < $cutoff AND state IN ('completed', 'failed', 'canceled', 'rejected'))
