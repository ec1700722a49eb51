-- code: BUS-T10
-- title: A kind of event stands with a state it cannot have
-- severity: high
-- applies: busbar sqlite 8-12, busbar postgres 10-11
-- params: none
-- examines: audit.task_events
-- proves: The kind of an event tells its state, and another one stands there.
-- does not prove: Which of the two was changed.
-- meaning: The event was edited, or one before it was lost.
-- next: Read the events of the task in order and compare them with a backup.
WITH odd AS (
    SELECT population, task_id, seq, kind, state FROM audit.task_events
    WHERE decodable AND state IN ('submitted', 'working', 'input-required', 'auth-required', 'completed', 'failed', 'canceled', 'rejected')
        AND CASE kind WHEN 'task.submitted' THEN state <> 'submitted' WHEN 'task.working' THEN state <> 'working' OR previous_state IN ('input-required', 'auth-required')
            WHEN 'task.resumed' THEN state <> 'working' OR previous_state NOT IN ('input-required', 'auth-required')
            WHEN 'task.interrupted' THEN state NOT IN ('input-required', 'auth-required')
            WHEN 'task.terminal' THEN state NOT IN ('completed', 'failed', 'canceled', 'rejected')
            WHEN 'task.delegated' THEN state <> previous_state WHEN 'task.artifact' THEN state <> previous_state
            WHEN 'task.rehydrated' THEN state <> previous_state WHEN 'task.push_delivered' THEN state <> previous_state
            WHEN 'task.push_refused' THEN state <> previous_state WHEN 'task.push_failed' THEN state <> previous_state ELSE false END
)
SELECT population AS subject, task_id AS place, min(seq) AS first_seq, max(seq) AS last_seq, count(*) AS records,
    count(*) || ' event(s), the first ' || arg_min(kind, seq) || ' with state ' || arg_min(state, seq) AS detail
FROM odd GROUP BY population, task_id
ORDER BY subject, place, first_seq, last_seq, detail
