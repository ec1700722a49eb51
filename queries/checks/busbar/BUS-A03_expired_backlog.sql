-- code: BUS-A03
-- title: Many expired approvals
-- severity: low
-- applies: busbar sqlite 9-12, busbar postgres 10-11
-- params: as_of hugeint, many bigint = 100
-- examines: audit.approvals
-- proves: More than a hundred approvals have expired and are still there.
-- does not prove: A fault: they are swept only when the next one is redeemed.
-- meaning: Since they expired nobody has redeemed another.
-- next: Nothing, if approvals are seldom; otherwise find out why none is redeemed any more.
SELECT source AS subject, coalesce(left(kind, 40), '') AS place, CAST(NULL AS BIGINT) AS first_seq, CAST(NULL AS BIGINT) AS last_seq, count(*) AS records,
    count(*) || ' expired approval(s), the last at ' || max(expires_at) AS detail
FROM audit.approvals WHERE expires_at < $as_of
GROUP BY source, kind HAVING count(*) > $many
ORDER BY subject, place, first_seq, last_seq, detail
