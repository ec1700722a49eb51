-- code: A2A-J06
-- title: Ids longer than the column allows
-- severity: low
-- applies: a2a-js sqlite 1
-- params: none
-- examines: audit.tasks
-- proves: A task or context id has more than 36 characters; SQLite does not enforce the length that the column declares.
-- does not prove: That anything is wrong here.
-- meaning: The row cannot be moved to PostgreSQL or MySQL.
-- next: Give the task another id before the store is moved.
SELECT 'tasks' AS subject, left(task_id, 80) AS place, CAST(NULL AS BIGINT) AS first_seq, CAST(NULL AS BIGINT) AS last_seq, 1 AS records,
    'task id of ' || length(task_id) || ' characters, context id of ' || coalesce(length(context_id), 0) AS detail
FROM audit.tasks WHERE length(task_id) > 36 OR length(context_id) > 36
ORDER BY subject, place, first_seq, last_seq, detail
