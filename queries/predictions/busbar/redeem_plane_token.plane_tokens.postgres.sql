-- verb: redeem_plane_token
-- table: plane_tokens
-- about: tokens that go when the next one is redeemed: on this engine those of its kind.
-- applies: busbar postgres 10-11
-- params: kind varchar, now hugeint
SELECT 'plane_tokens' AS table_name, [kind, token] AS key, 'plane_tokens' AS population, '' AS scope,
    CAST(NULL AS HUGEINT) AS seq, CAST(expires_at AS HUGEINT) AS ts, 'predicate' AS why
FROM raw.plane_tokens WHERE kind = $kind AND expires_at < $now
