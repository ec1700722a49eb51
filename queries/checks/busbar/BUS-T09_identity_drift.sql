-- code: BUS-T09
-- title: A task and its events name different people or contexts
-- severity: critical
-- applies: busbar sqlite 8-12, busbar postgres 10-11
-- params: none
-- examines: audit.task_events
-- proves: context_id or principal of an event is not that of the task row, or, without a row, of the first event.
-- does not prove: Which of the two is right.
-- meaning: Evidence of one tenant stands under the task of another.
-- next: Compare row and events with a backup; until then do not show this task to either principal.
WITH firsts AS (
    SELECT era, task_id, arg_min(context_id, (seq, row)) AS context_id, arg_min(principal, (seq, row)) AS principal
    FROM audit.task_events WHERE decodable GROUP BY era, task_id
), drift AS (
    SELECT e.population, e.task_id, e.seq, e.context_id <> coalesce(t.context_id, f.context_id) AS context,
        e.principal <> coalesce(t.principal, f.principal) AS principal
    FROM audit.task_events AS e JOIN firsts AS f ON f.era = e.era AND f.task_id = e.task_id
    LEFT JOIN audit.tasks AS t ON t.era = e.era AND t.task_id = e.task_id AND t.decodable
    WHERE e.decodable
)
SELECT population AS subject, task_id AS place, min(seq) AS first_seq, max(seq) AS last_seq, count(*) AS records,
    count(*) FILTER (context) || ' event(s) of another context, ' || count(*) FILTER (principal) || ' of another principal' AS detail
FROM drift WHERE context OR principal
GROUP BY population, task_id
ORDER BY subject, place, first_seq, last_seq, detail
