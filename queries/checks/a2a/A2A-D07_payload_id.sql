-- code: A2A-D07
-- title: A payload of another task
-- severity: critical
-- applies: a2a postgres 1-14
-- params: none
-- examines: audit.tasks
-- proves: The payload's id is not the row's id.
-- does not prove: Who changed it, or when.
-- meaning: Looking up one task gives another.
-- next: Restore the row from a backup.
SELECT 'a2a_tasks' AS subject, task_id AS place, created_sequence AS first_seq, created_sequence AS last_seq, 1 AS records, 'the payload is of task ' || CASE WHEN payload_id = '' THEN 'none' ELSE left(payload_id, 60) END AS detail FROM audit.tasks WHERE ok AND payload_id <> task_id
ORDER BY subject, place, first_seq, last_seq, detail
