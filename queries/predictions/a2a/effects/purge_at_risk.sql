-- effect: purge_at_risk
-- about: tasks that have not ended, or whose state is not known, and that would go.
SELECT p.verb, p.population AS subject, p.scope AS place, t.class, t.state, t.updated_at, 'has not ended' AS because, count(*) AS rows
FROM source.purge_rows AS p JOIN audit.tasks AS t ON t.task_id = p.scope
WHERE p.population = 'a2a_tasks' AND t.class <> 'terminal'
GROUP BY ALL
ORDER BY p.verb, subject, place
