-- code: A2A-J05
-- title: The state beside a status is another one
-- severity: high
-- applies: a2a-js postgres 1, a2a-js sqlite 1
-- params: none
-- examines: audit.tasks
-- proves: status_state is not the state that the status has.
-- does not prove: Which of the two is right.
-- meaning: Lists are filtered by the column: the task is found under a state it does not have.
-- next: Write the task again through the SDK.
SELECT 'tasks' AS subject, task_id AS place, CAST(NULL AS BIGINT) AS first_seq, CAST(NULL AS BIGINT) AS last_seq, 1 AS records,
    'the status is ' || coalesce(state, 'none') || ', the column ' || CASE WHEN status_state IS NULL THEN 'empty' ELSE 'another' END AS detail
FROM audit.tasks WHERE ok AND state IS DISTINCT FROM 'unknown'
    AND state IS DISTINCT FROM lower(replace(replace(status_state, 'TASK_STATE_', ''), '_', '-'))
ORDER BY subject, place, first_seq, last_seq, detail
