-- effect: purge_orphans
-- about: events that would stay without their task, and tasks that would stay without any event.
WITH gone AS (
    SELECT DISTINCT verb, CASE WHEN population = 'tasks' THEN 'typed' ELSE 'plane' END AS era, scope
    FROM source.purge_rows WHERE population IN ('tasks', 'task') AND seq IS NULL
), events_gone AS (
    SELECT verb, CASE WHEN population = 'task_events' THEN 'typed' ELSE 'plane' END AS era, scope, count(*) AS n
    FROM source.purge_rows WHERE population IN ('task_events', 'task_event') AND seq IS NOT NULL GROUP BY ALL
), events AS (
    SELECT era, population, task_id, count(*) AS n FROM audit.task_events GROUP BY ALL
)
SELECT g.verb, e.population AS subject, e.task_id AS place, e.n - coalesce(x.n, 0) AS rows, 'events without their task' AS what
FROM gone AS g JOIN events AS e ON e.era = g.era AND e.task_id = g.scope
LEFT JOIN events_gone AS x ON x.verb = g.verb AND x.era = g.era AND x.scope = g.scope
WHERE e.n > coalesce(x.n, 0)
UNION ALL
SELECT x.verb, t.population, t.task_id, 1, 'task without its events'
FROM events_gone AS x JOIN events AS e ON e.era = x.era AND e.task_id = x.scope AND e.n <= x.n
JOIN audit.tasks AS t ON t.era = x.era AND t.task_id = x.scope
ANTI JOIN gone AS g ON g.verb = x.verb AND g.era = x.era AND g.scope = x.scope
ORDER BY verb, subject, place
