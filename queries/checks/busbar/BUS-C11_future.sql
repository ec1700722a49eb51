-- code: BUS-C11
-- title: A record is from the future
-- severity: medium
-- applies: busbar sqlite 5-12, busbar postgres 6-11
-- params: as_of hugeint, tolerance hugeint = 300
-- examines: audit.chain_records
-- proves: ts is more than 300 seconds after the time of the audit.
-- does not prove: Forgery: a wrong clock looks the same.
-- meaning: The clock of the gateway was wrong, or the record is made up.
-- next: Compare with the clock of the host.
SELECT population AS subject, scope AS place, min(seq) AS first_seq, max(seq) AS last_seq, count(*) AS records,
    'latest ts ' || max(ts) || ', time of the audit ' || $as_of AS detail
FROM audit.chain_records WHERE ts > $as_of + $tolerance
GROUP BY population, scope
ORDER BY subject, place, first_seq, last_seq, detail
