-- view: keys
-- kind: view
-- about: one row a key. live: neither deleted nor disabled; its expiry is another matter.
-- applies: busbar postgres 6
SELECT id, key_group, allowed_pools, CAST(NULL AS VARCHAR) AS scope_grants, enabled, created_at, CAST(NULL AS BIGINT) AS updated_at, expires_at,
    deleted_at, deleted_at IS NULL AND enabled = 1 AS live
FROM raw.keys
