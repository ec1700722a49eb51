-- code: A2A-K05
-- title: A state that is none
-- severity: high
-- applies: a2a postgres 20
-- params: none
-- examines: audit.tasks
-- proves: The state is no word of either dialect.
-- does not prove: Who wrote it.
-- meaning: No filter matches the task, and the SDK fails on it.
-- next: Write the task again through the SDK.
SELECT 'a2a_tasks' AS subject, task_id AS place, CAST(NULL AS BIGINT) AS first_seq, CAST(NULL AS BIGINT) AS last_seq, 1 AS records, 'the state is not known' AS detail FROM audit.tasks WHERE ok AND state = 'unknown'
ORDER BY subject, place, first_seq, last_seq, detail
