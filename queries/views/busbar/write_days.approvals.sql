-- view: write_days
-- kind: part
-- about: one row a day on which a population was written, with the last time of it. Rows that change in place (tasks, keys) tell of
--   their last change only; an approval of when it expires, a few minutes after its use.
-- applies: busbar sqlite 9-12, busbar postgres 10-11
SELECT 'approvals' AS population, expires_at // 86400 AS day, count(*) AS records, max(expires_at) AS last_ts
FROM audit.approvals WHERE expires_at > 0 GROUP BY ALL
UNION ALL
SELECT 'demotions', CAST(recorded_at // 86400 AS HUGEINT), count(*), CAST(max(recorded_at) AS HUGEINT)
FROM audit.demotions WHERE recorded_at > 0 GROUP BY ALL
