-- code: A2A-P05
-- title: last_updated differs from the status
-- severity: medium
-- applies: a2a-python postgres 1-4, a2a-python sqlite 1-4
-- params: none
-- examines: audit.tasks
-- proves: last_updated is not the time that the status has; rows without either are left out.
-- does not prove: Which of the two is right.
-- meaning: Lists are ordered by a time that the task does not have.
-- next: Write the task again through the SDK.
SELECT 'tasks' AS subject, task_id AS place, CAST(NULL AS BIGINT) AS first_seq, CAST(NULL AS BIGINT) AS last_seq, 1 AS records, 'they differ by ' || abs(updated_us - status_us) || ' microseconds' AS detail FROM audit.tasks WHERE updated_us <> status_us
ORDER BY subject, place, first_seq, last_seq, detail
