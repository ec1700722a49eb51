-- view: write_days
-- kind: part
-- about: one row a day on which a population was written, with the last time of it. Rows that change in place (tasks, keys) tell of
--   their last change only; an approval of when it expires, a few minutes after its use.
-- applies: busbar sqlite 8-12, busbar postgres 10-11
SELECT 'tasks' AS population, updated_at // 86400 AS day, count(*) AS records, max(updated_at) AS last_ts
FROM audit.tasks WHERE decodable AND updated_at > 0 GROUP BY ALL
