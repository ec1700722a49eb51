-- view: approvals
-- kind: part
-- about: one row an approval that was redeemed, by kind; the nonce itself is not shown.
-- applies: busbar sqlite 10-12, busbar postgres 10-11
SELECT 'plane_tokens' AS source, kind, CAST(expires_at AS HUGEINT) AS expires_at FROM raw.plane_tokens
