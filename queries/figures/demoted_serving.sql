-- figure: demoted_serving
-- about: servers with a demotion that still stands, and the calls that were dispatched to each after it, the busiest first.
-- params: limit bigint = 20
WITH served AS (
    SELECT d.server, count(*) AS calls, count(DISTINCT c.scope) AS callers, max(c.ts) AS last_ts
    FROM audit.calls AS c JOIN audit.demotions AS d ON d.server = c.server
    WHERE c.outcome = 'dispatched' AND c.ts > d.recorded_at GROUP BY d.server
)
SELECT d.server, d.reason, d.recorded_at, coalesce(s.calls, 0) AS calls, coalesce(s.callers, 0) AS callers, s.last_ts,
    count(*) OVER () AS total, count(s.server) OVER () AS serving
FROM audit.demotions AS d LEFT JOIN served AS s ON s.server = d.server
ORDER BY coalesce(s.calls, 0) DESC, d.recorded_at, d.server
LIMIT $limit
