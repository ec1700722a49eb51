-- code: BUS-T04
-- title: A task changed its state as no task can
-- severity: high
-- applies: busbar sqlite 8-12, busbar postgres 10-11
-- params: none
-- examines: audit.task_events
-- proves: Two events that follow each other stand for a change of state that the task machine does not have.
-- does not prove: Which event is wrong, or whether one between them was lost and the rest renumbered.
-- meaning: An event was edited, inserted or lost.
-- next: Read the events of the task in order and compare them with a backup.
WITH steps AS (
    SELECT population, task_id, seq, state, run, lag(state) OVER task AS before, lag(run) OVER task AS run_before
    FROM audit.task_events WHERE decodable AND moves
    WINDOW task AS (PARTITION BY population, task_id ORDER BY seq, row)
), states AS (
    SELECT before AS state FROM audit.task_transitions UNION SELECT after FROM audit.task_transitions
), illegal AS (
    SELECT * FROM steps AS s
    WHERE before <> state AND before IN (SELECT state FROM states) AND state IN (SELECT state FROM states)
        AND NOT EXISTS (SELECT 1 FROM audit.task_transitions AS l WHERE l.before = s.before AND l.after = s.state)
        -- Over a gap any way may have been taken, but none leaves the end and none leads back to the beginning.
        AND (run = run_before OR before IN ('completed', 'failed', 'canceled', 'rejected') OR state = 'submitted')
)
SELECT population AS subject, task_id AS place, min(seq) AS first_seq, max(seq) AS last_seq, count(*) AS records,
    count(*) || ' illegal change(s) of state, the first from ' || arg_min(before, seq) || ' to ' || arg_min(state, seq) AS detail
FROM illegal GROUP BY population, task_id
ORDER BY subject, place, first_seq, last_seq, detail
