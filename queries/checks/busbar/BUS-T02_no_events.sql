-- code: BUS-T02
-- title: A task without any event
-- severity: high
-- applies: busbar sqlite 8-12, busbar postgres 10-11
-- params: none
-- examines: audit.tasks
-- proves: No event names the task.
-- does not prove: Deletion: the write of the first event may have failed.
-- meaning: Where the task came from and what was done with it cannot be shown.
-- next: Compare with a backup and with the gateway log at the time the task was made.
SELECT t.population AS subject, t.task_id AS place, CAST(NULL AS BIGINT) AS first_seq, CAST(NULL AS BIGINT) AS last_seq, 1 AS records,
    'state ' || coalesce(left(t.state, 40), 'unknown') || ', made at ' || coalesce(CAST(t.created_at AS VARCHAR), 'unknown time') || ', no event' AS detail
FROM audit.tasks AS t ANTI JOIN audit.task_events AS e ON e.era = t.era AND e.task_id = t.task_id
WHERE t.task_id IS NOT NULL
ORDER BY subject, place, first_seq, last_seq, detail
