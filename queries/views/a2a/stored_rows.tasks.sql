-- view: stored_rows
-- kind: part
-- about: one row a row of either table, in the terms that both have. scope: within it the created sequence orders a list.
-- applies: a2a postgres 1-14
SELECT 'a2a_tasks' AS table_name, task_id AS place, '' AS scope, created_sequence, updated_at AS updated, bytes, ok, reason,
    concat_ws(', ', CASE WHEN task_id = '' THEN 'id' END, CASE WHEN context_id = '' THEN 'context_id' END) AS empty_fields
FROM audit.tasks
