-- effect: purge_held
-- about: what a policy holds and a verb would take rows of.
SELECT p.verb, h.kept AS subject, h.place, count(*) AS rows
FROM source.purge_rows AS p
JOIN source.purge_holds AS h ON h.place = p.scope
    AND (h.kept = 'tasks' AND p.population IN ('tasks', 'task', 'task_events', 'task_event') OR h.kept = 'calls' AND p.population IN ('mcp_calls', 'call'))
GROUP BY ALL
ORDER BY p.verb, subject, place
