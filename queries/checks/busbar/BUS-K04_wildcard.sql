-- code: BUS-K04
-- title: Live keys that may use everything
-- severity: info
-- applies: busbar sqlite 5-12, busbar postgres 6-11
-- params: as_of hugeint
-- examines: audit.keys
-- proves: Neither allowed_pools nor scope_grants is set on a live key: nothing is left out of its grant.
-- does not prove: A fault: it is a legal grant.
-- meaning: Whoever has this key has every pool.
-- next: Check that each of them is wanted; give the others a list.
SELECT 'keys' AS subject, coalesce(id, '') AS place, CAST(NULL AS BIGINT) AS first_seq, CAST(NULL AS BIGINT) AS last_seq, 1 AS records,
    'no limit to pools; group ' || coalesce(left(key_group, 60), 'none') || ', ' || coalesce('expires at ' || expires_at, 'never expires') AS detail
FROM audit.keys WHERE live AND allowed_pools IS NULL AND scope_grants IS NULL AND (expires_at IS NULL OR expires_at >= $as_of)
ORDER BY subject, place, first_seq, last_seq, detail
