-- code: BUS-C17
-- title: Chained rows carry the time 0
-- severity: high
-- applies: busbar sqlite 10-12, busbar postgres 10-11
-- params: none
-- examines: audit.plane_chain
-- proves: The row time that retention goes by is 0.
-- does not prove: Tampering: late builds wrote it so.
-- meaning: The next purge with any cutoff deletes all of them.
-- next: Do not purge this kind; update the gateway and have the times mended first.
SELECT population AS subject, scope AS place, min(seq) AS first_seq, max(seq) AS last_seq, count(*) AS records,
    count(*) || ' row(s) of this chain have the time 0' AS detail
FROM audit.plane_chain WHERE row_ts = 0
GROUP BY population, scope
ORDER BY subject, place, first_seq, last_seq, detail
