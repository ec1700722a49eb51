-- view: task_fields
-- kind: part
-- about: one row a task of the typed table.
-- applies: busbar sqlite 8-12
SELECT 'typed' AS era, 'tasks' AS population, task_id, task_id AS body_task_id, context_id, principal, direction, state, agent_id,
    CAST(artifact_cursor AS HUGEINT) AS artifact_cursor, push_callback, CAST(created_at AS HUGEINT) AS created_at,
    CAST(updated_at AS HUGEINT) AS updated_at, CAST(NULL AS VARCHAR) AS disposition, CAST(NULL AS HUGEINT) AS row_ts,
    (task_id IS NOT NULL AND context_id IS NOT NULL AND principal IS NOT NULL AND direction IS NOT NULL AND state IS NOT NULL
        AND agent_id IS NOT NULL AND artifact_cursor IS NOT NULL AND push_callback IS NOT NULL AND created_at IS NOT NULL
        AND updated_at IS NOT NULL) AS decodable,
    _row AS row
FROM raw.tasks
