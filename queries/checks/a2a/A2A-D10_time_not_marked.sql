-- code: A2A-D10
-- title: Tasks with a status time that is not marked as one
-- severity: high
-- applies: a2a postgres 2-14
-- params: none
-- examines: audit.tasks
-- proves: has_status_timestamp is false and status_seconds is not 0.
-- does not prove: Which of the two is right; after an upgrade from the first shape the time is.
-- meaning: The filter by time drops these tasks. The upgrade from the first shape adds the column as false and fills
--   nothing.
-- next: Set has_status_timestamp where the payload has a timestamp, on a copy first.
SELECT 'a2a_tasks' AS subject, 'has_status_timestamp' AS place, min(created_sequence) AS first_seq, max(created_sequence) AS last_seq, count(*) AS records, count(*) || ' task(s); the first is ' || left(min(task_id), 60) AS detail
FROM audit.tasks WHERE has_status_timestamp = 0 AND status_seconds <> 0 HAVING count(*) > 0
ORDER BY subject, place, first_seq, last_seq, detail
