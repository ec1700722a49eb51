-- figure: after_revocation
-- about: callers whose key was deleted or denied, with the calls dispatched more than the grace time after that, the busiest first.
-- params: grace hugeint = 300, limit bigint = 20
WITH revoked AS (
    -- Deleted before it was made (BUS-K02): when is not known.
    SELECT id AS principal, deleted_at AS since, 'deleted' AS how FROM audit.keys WHERE deleted_at >= created_at
    UNION ALL
    -- A time of 0 means that the time was never recorded.
    SELECT sub, created_at, 'denied' FROM raw.denylist WHERE created_at > 0
), earliest AS (
    SELECT principal, min(since) AS since, arg_min(how, since) AS how FROM revoked GROUP BY principal
)
SELECT c.principal, any_value(e.how) AS how, any_value(e.since) AS since, count(*) AS calls, count(DISTINCT c.server) AS servers, max(c.ts) AS last_ts,
    count(*) OVER () AS total
FROM audit.calls AS c JOIN earliest AS e ON e.principal = c.principal
WHERE c.outcome = 'dispatched' AND c.ts > e.since + $grace
GROUP BY c.principal
ORDER BY calls DESC, c.principal
LIMIT $limit
