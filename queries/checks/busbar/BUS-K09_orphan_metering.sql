-- code: BUS-K09
-- title: Usage of a key that does not exist
-- severity: high
-- applies: busbar sqlite 5-12, busbar postgres 6-11
-- params: none
-- examines: audit.metering
-- proves: Metering rows name a key id that has no row; tombstones count as rows.
-- does not prove: Who removed the key.
-- meaning: Something was billed to nobody: the guard that keeps billed keys was bypassed.
-- next: Compare keys with a backup; check the triggers (BUS-S07).
SELECT 'usage_metering' AS subject, coalesce(m.key_id, '') AS place, CAST(NULL AS BIGINT) AS first_seq, CAST(NULL AS BIGINT) AS last_seq, count(*) AS records,
    count(*) || ' metering row(s), ' || sum(m.requests) || ' request(s)' AS detail
FROM audit.metering AS m ANTI JOIN audit.keys AS k ON k.id = m.key_id
WHERE m.key_id IS NOT NULL
GROUP BY m.key_id
ORDER BY subject, place, first_seq, last_seq, detail
