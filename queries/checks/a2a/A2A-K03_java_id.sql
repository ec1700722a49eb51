-- code: A2A-K03
-- title: A task of the Java SDK with the JSON of another
-- severity: critical
-- applies: a2a postgres 20
-- params: none
-- examines: audit.tasks
-- proves: The id inside the JSON is not the row's id.
-- does not prove: Who changed it, or when.
-- meaning: Looking up one task gives another.
-- next: Restore the row from a backup.
SELECT 'a2a_tasks' AS subject, task_id AS place, CAST(NULL AS BIGINT) AS first_seq, CAST(NULL AS BIGINT) AS last_seq, 1 AS records,
    'the JSON is of task ' || left(payload_id, 60) AS detail
FROM audit.tasks WHERE ok AND payload_id <> task_id
ORDER BY subject, place, first_seq, last_seq, detail
