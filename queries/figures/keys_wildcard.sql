-- figure: keys_wildcard
-- about: live keys that may use everything, those in use first: requests metered in all, and the last day of it.
-- params: as_of hugeint, limit bigint = 20
WITH used AS (
    SELECT key_id, sum(CAST(requests AS HUGEINT)) AS requests, max(day) FILTER (requests > 0) AS last_day FROM audit.metering GROUP BY key_id
)
SELECT k.id, k.key_group, k.created_at, k.expires_at, coalesce(u.requests, 0) AS requests, u.last_day, count(*) OVER () AS total
FROM audit.keys AS k LEFT JOIN used AS u ON u.key_id = k.id
WHERE k.live AND k.allowed_pools IS NULL AND k.scope_grants IS NULL AND (k.expires_at IS NULL OR k.expires_at >= $as_of)
ORDER BY coalesce(u.last_day, 0) DESC, requests DESC, k.id
LIMIT $limit
