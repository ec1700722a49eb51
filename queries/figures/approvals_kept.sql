-- figure: approvals_kept
-- about: approvals on record as redeemed, by table and kind: those that could still be used again if the record were lost, and expired ones.
-- params: as_of hugeint
SELECT source, kind, count(*) AS used, count(*) FILTER (expires_at >= $as_of) AS valid, count(*) FILTER (expires_at < $as_of) AS expired,
    max(expires_at) AS last_expiry
FROM audit.approvals
GROUP BY source, kind
ORDER BY source, kind
