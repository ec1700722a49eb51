-- view: task_events
-- kind: table
-- about: one row a task event in its place. moves: the kind changes the task's state; run: the same number means that no event
--   is missing or unreadable between two events; previous_state: of the event before it in the same run.
-- applies: busbar sqlite 8-12, busbar postgres 10-11
WITH placed AS (
    SELECT CASE population WHEN 'task_events' THEN 'typed' ELSE 'plane' END AS era, population, scope AS task_id, seq, row, ts, kind,
        context_id, principal, agent_id, state, decodable,
        CAST(seq AS HUGEINT) - dense_rank() OVER (PARTITION BY population, scope ORDER BY seq)
            + sum(CASE WHEN decodable THEN 0 ELSE 1 END) OVER (PARTITION BY population, scope ORDER BY seq, row) AS run
    FROM audit.event_fields WHERE scope IS NOT NULL AND seq IS NOT NULL
)
SELECT *, coalesce(kind IN ('task.submitted', 'task.working', 'task.interrupted', 'task.resumed', 'task.terminal'), false) AS moves,
    CASE WHEN decodable THEN lag(state) OVER (PARTITION BY population, task_id, run ORDER BY seq, row) END AS previous_state
FROM placed
