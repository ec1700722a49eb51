-- code: BUS-T08
-- title: A task without a name, context or principal
-- severity: high
-- applies: busbar sqlite 8-12, busbar postgres 10-11
-- params: none
-- examines: audit.tasks
-- proves: task_id, context_id or principal is empty in the row or in an event.
-- does not prove: An edit.
-- meaning: The gateway cannot read such a task at its start, and nobody can be held to it.
-- next: Compare with a backup; look for BUSBAR-7024 in the gateway log.
WITH nameless AS (
    SELECT population, coalesce(task_id, '') AS task_id, NULL AS seq, task_id AS a, context_id AS b, principal AS c FROM audit.tasks WHERE decodable
    UNION ALL
    SELECT population, task_id, seq, task_id, context_id, principal FROM audit.task_events WHERE decodable
)
SELECT population AS subject, task_id AS place, min(seq) AS first_seq, max(seq) AS last_seq, count(*) AS records,
    'empty: ' || concat_ws(', ', CASE WHEN bool_or(a = '') THEN 'task_id' END, CASE WHEN bool_or(b = '') THEN 'context_id' END,
        CASE WHEN bool_or(c = '') THEN 'principal' END) AS detail
FROM nameless WHERE a = '' OR b = '' OR c = ''
GROUP BY population, task_id
ORDER BY subject, place, first_seq, last_seq, detail
