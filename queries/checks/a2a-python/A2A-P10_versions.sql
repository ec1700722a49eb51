-- code: A2A-P10
-- title: Versions without their task
-- severity: medium
-- applies: a2a-python postgres 1-4, a2a-python sqlite 1-4
-- params: none
-- examines: raw.task_versions
-- proves: task_versions has a row whose task is not there.
-- does not prove: How it went.
-- meaning: The cluster's bookkeeping and the tasks have drifted apart.
-- next: Find out who deletes tasks, and delete the version with the task.
SELECT 'task_versions' AS subject, v.task_id AS place, CAST(NULL AS BIGINT) AS first_seq, CAST(NULL AS BIGINT) AS last_seq, 1 AS records, 'version ' || v.version || ' of a task that is not there' AS detail FROM raw.task_versions AS v LEFT JOIN audit.tasks AS t ON t.task_id = v.task_id WHERE t.task_id IS NULL
ORDER BY subject, place, first_seq, last_seq, detail
