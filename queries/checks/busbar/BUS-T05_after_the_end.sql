-- code: BUS-T05
-- title: A task went on after its end
-- severity: high
-- applies: busbar sqlite 8-12, busbar postgres 10-11
-- params: none
-- examines: audit.task_events
-- proves: An event that changes the state follows one with a terminal state.
-- does not prove: Who wrote it.
-- meaning: A finished task was continued, or its end was inserted.
-- next: Compare with a backup; look at what the later events delivered, and to whom.
WITH ends AS (
    SELECT population, task_id, min(seq) AS seq, arg_min(state, (seq, row)) AS state FROM audit.task_events
    WHERE decodable AND state IN ('completed', 'failed', 'canceled', 'rejected') GROUP BY population, task_id
)
SELECT e.population AS subject, e.task_id AS place, min(e.seq) AS first_seq, max(e.seq) AS last_seq, count(*) AS records,
    count(*) || ' event(s) after ' || any_value(n.state) || ' at number ' || any_value(n.seq) AS detail
FROM audit.task_events AS e JOIN ends AS n ON n.population = e.population AND n.task_id = e.task_id
WHERE e.decodable AND e.seq > n.seq AND (e.moves OR e.state <> n.state)
GROUP BY e.population, e.task_id
ORDER BY subject, place, first_seq, last_seq, detail
