-- code: BUS-T01
-- title: Events of a task that has no row
-- severity: high
-- applies: busbar sqlite 8-12, busbar postgres 10-11
-- params: none
-- examines: audit.task_events
-- proves: Events name a task that is not there.
-- does not prove: Deletion by hand: a purge that ran without the cascade, or a crash, leaves the same.
-- meaning: The task itself is gone while its history is left; the gateway never reads these events.
-- next: Compare with a backup: was the task finished, and was it purged? Check that the cascade is in place
--   (BUS-S07).
SELECT e.population AS subject, e.task_id AS place, min(e.seq) AS first_seq, max(e.seq) AS last_seq, count(*) AS records,
    count(*) || ' event(s) without a task row, the last at ' || coalesce(CAST(max(e.ts) AS VARCHAR), 'unknown time') || ', state '
    || coalesce(left(arg_max(e.state, (e.seq, e.row)), 40), 'unknown') AS detail
FROM audit.task_events AS e ANTI JOIN audit.tasks AS t ON t.era = e.era AND t.task_id = e.task_id
GROUP BY e.population, e.task_id
ORDER BY subject, place, first_seq, last_seq, detail
