-- figure: keys_by_state
-- about: keys by state at the audit, and how many of them may use everything.
-- params: as_of hugeint
WITH stated AS (
    SELECT CASE WHEN deleted_at IS NOT NULL THEN 'deleted' WHEN NOT live THEN 'disabled' WHEN expires_at < $as_of THEN 'expired, still enabled'
        ELSE 'live' END AS state, allowed_pools IS NULL AND scope_grants IS NULL AS wildcard, expires_at, created_at
    FROM audit.keys
)
SELECT state, count(*) AS keys, count(*) FILTER (wildcard) AS wildcard, count(*) FILTER (expires_at IS NULL) AS endless,
    min(created_at) AS oldest, max(created_at) AS newest
FROM stated
GROUP BY state
ORDER BY CASE state WHEN 'live' THEN 1 WHEN 'expired, still enabled' THEN 2 WHEN 'disabled' THEN 3 ELSE 4 END
