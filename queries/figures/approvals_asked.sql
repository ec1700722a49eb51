-- figure: approvals_asked
-- about: calls that waited for an approval, by caller and tool: those that went through within its lifetime, those still open at the
--   audit, and those that were never granted in time.
-- params: as_of hugeint, lifetime hugeint = 300, limit bigint = 20
WITH followed AS (
    SELECT scope, tool, ts, reason, min(CASE WHEN outcome = 'dispatched' THEN ts END) OVER (PARTITION BY population, scope, tool ORDER BY seq, row
        ROWS BETWEEN 1 FOLLOWING AND UNBOUNDED FOLLOWING) AS done
    FROM audit.calls WHERE decodable AND tool IN (SELECT tool FROM audit.calls WHERE reason = 'caller_ask_pending')
), asked AS (
    SELECT scope, tool, ts, coalesce(done - ts BETWEEN 0 AND $lifetime, false) AS granted, ts >= $as_of - $lifetime AS recent
    FROM followed WHERE reason = 'caller_ask_pending'
), counted AS (
    SELECT scope, tool, count(*) AS asked, count(*) FILTER (granted) AS granted, count(*) FILTER (NOT granted AND recent) AS waiting,
        count(*) FILTER (NOT granted AND NOT recent) AS lapsed, max(ts) AS last_ts
    FROM asked GROUP BY scope, tool
)
SELECT scope, tool, asked, granted, waiting, lapsed, last_ts, count(*) OVER () AS total, sum(asked) OVER () AS all_asked,
    sum(granted) OVER () AS all_granted, sum(waiting) OVER () AS all_waiting, sum(lapsed) OVER () AS all_lapsed
FROM counted
ORDER BY waiting DESC, asked DESC, scope, tool
LIMIT $limit
