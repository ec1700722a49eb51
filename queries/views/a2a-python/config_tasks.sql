-- view: config_tasks
-- kind: view
-- about: one row a push configuration with its task: has_task, and the task's class, state and time of the last change.
-- applies: a2a-python postgres 1-4, a2a-python sqlite 1-4
SELECT c.task_id, c.config_id, CAST(NULL AS BIGINT) AS created_sequence, CAST(NULL AS BOOLEAN) AS local, t.task_id IS NOT NULL AS has_task, t.class, t.state,
    t.updated_at AS task_updated
FROM audit.push_configs AS c LEFT JOIN audit.tasks AS t ON t.task_id = c.task_id
