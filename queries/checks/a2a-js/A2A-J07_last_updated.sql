-- code: A2A-J07
-- title: status_last_updated differs from the status
-- severity: medium
-- applies: a2a-js postgres 1, a2a-js sqlite 1
-- params: none
-- examines: audit.tasks
-- proves: The column is not the time that the status has, to the millisecond; it is 0 where the status has none.
-- does not prove: Which of the two is right.
-- meaning: Lists are ordered by a time that the task does not have.
-- next: Write the task again through the SDK.
SELECT 'tasks' AS subject, task_id AS place, CAST(NULL AS BIGINT) AS first_seq, CAST(NULL AS BIGINT) AS last_seq, 1 AS records,
    'they differ by ' || abs(status_last_updated - coalesce(status_us // 1000, 0)) || ' milliseconds' AS detail
FROM audit.tasks WHERE ok AND status_last_updated <> coalesce(status_us // 1000, 0)
ORDER BY subject, place, first_seq, last_seq, detail
