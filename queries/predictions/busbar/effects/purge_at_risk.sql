-- effect: purge_at_risk
-- about: tasks that have not ended, or are younger than the cutoff by their own time, and that a verb would take rows of all the same.
SELECT p.verb, t.population AS subject, t.task_id AS place, t.class, left(coalesce(t.state, 'unreadable'), 40) AS state, t.updated_at,
    CASE WHEN t.class IS DISTINCT FROM 'terminal' THEN 'has not ended' ELSE 'written at ' || t.updated_at || ', after the cutoff' END AS because,
    count(*) AS rows
FROM source.purge_rows AS p
JOIN audit.tasks AS t ON t.task_id = p.scope
    AND (t.era = 'typed' AND p.population IN ('tasks', 'task_events') OR t.era = 'plane' AND p.population IN ('task', 'task_event'))
WHERE t.class IS DISTINCT FROM 'terminal' OR t.updated_at >= p.cutoff
GROUP BY ALL
ORDER BY p.verb, subject, place
