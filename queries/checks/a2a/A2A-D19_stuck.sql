-- code: A2A-D19
-- title: Work that nobody goes on with
-- severity: low
-- applies: a2a postgres 1-14
-- params: as_of hugeint, stuck hugeint = 604800
-- examines: audit.tasks
-- proves: A task is submitted or working and was not written for longer than the limit; one that waits for input is info.
-- does not prove: That the agent is gone. In an old copy every open task looks like this.
-- meaning: The agent was lost, or what it tells is no longer written.
-- next: Ask the agent, then cancel what is lost.
SELECT 'a2a_tasks' AS subject, task_id AS place, created_sequence AS first_seq, created_sequence AS last_seq, 1 AS records, 'state ' || state_number || ', not written for ' || ($as_of - updated_at) // 86400 || ' days' AS detail,
    CASE WHEN class = 'interrupted' THEN 'info' ELSE 'low' END AS severity
FROM audit.tasks WHERE class IN ('work', 'interrupted', 'unspecified') AND updated_at < $as_of - $stuck
ORDER BY subject, place, first_seq, last_seq, detail
