-- code: A2A-D09
-- title: The status time differs from the payload
-- severity: high
-- applies: a2a postgres 1-14
-- params: none
-- examines: audit.tasks
-- proves: The columns of the status time are not what the payload says, in another way than A2A-D10 names.
-- does not prove: Who changed it, or when.
-- meaning: The filter by time shows or drops the wrong tasks.
-- next: Write the task again through the SDK.
SELECT 'a2a_tasks' AS subject, task_id AS place, created_sequence AS first_seq, created_sequence AS last_seq, 1 AS records, 'status time in the columns: ' || status_seconds || '.' || status_nanos || ', in the payload: ' || CASE WHEN payload_has_timestamp THEN payload_seconds || '.' || payload_nanos ELSE 'none' END AS detail FROM audit.tasks WHERE ok AND NOT (coalesce(has_status_timestamp = 0, false) AND status_seconds <> 0)
    AND ((has_status_timestamp = 1) <> payload_has_timestamp OR status_seconds <> payload_seconds OR status_nanos <> payload_nanos)
ORDER BY subject, place, first_seq, last_seq, detail
