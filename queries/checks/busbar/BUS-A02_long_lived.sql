-- code: BUS-A02
-- title: Approvals that live too long
-- severity: low
-- applies: busbar sqlite 9-12, busbar postgres 10-11
-- params: as_of hugeint, longest hugeint = 86400
-- examines: audit.approvals
-- proves: A redeemed approval expires more than a day after the audit; the gateway gives them 300 seconds.
-- does not prove: Misuse: a wrong clock, a setting or test data do the same.
-- meaning: The record of its use stays that long, which is safe; that it was valid that long may not be.
-- next: Check the lifetime of approvals and the clock of the gateway.
SELECT source AS subject, coalesce(left(kind, 40), '') AS place, CAST(NULL AS BIGINT) AS first_seq, CAST(NULL AS BIGINT) AS last_seq, count(*) AS records,
    count(*) || ' approval(s) expire more than ' || $longest || ' s after the audit, the last at ' || max(expires_at) AS detail
FROM audit.approvals WHERE expires_at > $as_of + $longest
GROUP BY source, kind
ORDER BY subject, place, first_seq, last_seq, detail
