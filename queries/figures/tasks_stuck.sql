-- figure: tasks_stuck
-- about: tasks at work of which nothing was written for more than a day before the audit, the longest first; ends is the last write of
--   the store as a whole.
-- params: as_of hugeint, stuck hugeint = 86400, limit bigint = 20
WITH heard AS (SELECT era, task_id, max(ts) AS ts FROM audit.task_events GROUP BY era, task_id), quiet AS (
    SELECT t.task_id, t.state, t.principal, t.agent_id, greatest(t.updated_at, coalesce(h.ts, 0)) AS since
    FROM audit.tasks AS t LEFT JOIN heard AS h ON h.era = t.era AND h.task_id = t.task_id
    WHERE t.decodable AND t.class = 'work'
)
SELECT task_id, state, principal, agent_id, since, count(*) OVER () AS total,
    (SELECT max(last_ts) FROM audit.write_times WHERE last_ts <= $as_of + 300) AS ends
FROM quiet WHERE since < $as_of - $stuck
ORDER BY since, task_id
LIMIT $limit
