-- code: BUS-T03
-- title: A task row and its last event disagree
-- severity: high
-- applies: busbar sqlite 8-12, busbar postgres 10-11
-- params: none
-- examines: audit.tasks
-- proves: The state of the row is not that of its last event.
-- does not prove: Which of the two is right. Where the row is ahead by one legal step a crash between two writes
--   explains it, and the finding is medium.
-- meaning: The row was edited, or an event was lost.
-- next: One step ahead: look for a stop of the gateway at that time. Otherwise compare row and events with a backup.
WITH ends AS (
    SELECT era, task_id, arg_max(seq, (seq, row)) AS seq, arg_max(coalesce(state, ''), (seq, row)) AS state,
        arg_max(decodable, (seq, row)) AS decodable, max(ts) FILTER (moves) AS moved_at
    FROM audit.task_events GROUP BY era, task_id
), differing AS (
    SELECT t.population, t.task_id, e.seq, left(t.state, 40) AS row_state, left(e.state, 40) AS event_state,
        EXISTS (SELECT 1 FROM audit.task_transitions AS l WHERE l.before = e.state AND l.after = t.state)
            AND t.updated_at >= coalesce(e.moved_at, 0) AS crash
    FROM audit.tasks AS t JOIN ends AS e ON e.era = t.era AND e.task_id = t.task_id
    WHERE t.decodable AND e.decodable AND t.state <> e.state
)
SELECT population AS subject, task_id AS place, seq AS first_seq, seq AS last_seq, 1 AS records,
    CASE WHEN crash THEN 'crash-ahead: the row says ' || row_state || ', its last event ' || event_state || '; one legal step, as a crash between both writes leaves it'
        ELSE 'the row says ' || row_state || ', its last event ' || event_state END AS detail,
    CASE WHEN crash THEN 'medium' ELSE 'high' END AS severity
FROM differing
ORDER BY subject, place, first_seq, last_seq, detail
