-- code: A2A-D11
-- title: A status time that cannot be
-- severity: medium
-- applies: a2a postgres 1-14
-- params: as_of hugeint
-- examines: audit.tasks
-- proves: Nanoseconds are outside 0 to 999,999,999, or the time is more than a day after the audit or before 2015.
-- does not prove: Which clock was wrong.
-- meaning: A clock was wrong, or the value was written by other means.
-- next: Look at the clock of the writer.
SELECT 'a2a_tasks' AS subject, task_id AS place, created_sequence AS first_seq, created_sequence AS last_seq, 1 AS records, status_seconds || ' seconds, ' || status_nanos || ' nanoseconds' AS detail FROM audit.tasks WHERE status_nanos NOT BETWEEN 0 AND 999999999 OR status_seconds > $as_of + 86400 OR (status_seconds <> 0 AND status_seconds < 1420070400)
ORDER BY subject, place, first_seq, last_seq, detail
