-- figure: a2a_stuck
-- about: Tasks at work that were not changed for more than so many seconds before the audit, the longest first.
-- params: as_of hugeint, stuck hugeint = 604800, limit bigint = 20
SELECT task_id, state, updated_at AS since, count(*) OVER () AS total
FROM audit.tasks WHERE decodable AND class = 'work' AND updated_at < $as_of - $stuck
ORDER BY since, task_id
LIMIT $limit
