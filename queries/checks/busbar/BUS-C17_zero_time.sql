-- code: BUS-C17
-- title: Chained rows carry the time 0
-- severity: high
-- applies: busbar sqlite 10-12
-- params: none
-- examines: audit.plane_chain
-- proves: The row time that retention goes by is 0.
-- does not prove: Tampering: late builds wrote it so.
-- meaning: The next purge with any cutoff deletes all of them.
-- next: Do not purge this kind; update the gateway and have the times mended first.
SELECT population AS subject, population AS place, CAST(NULL AS BIGINT) AS first_seq, CAST(NULL AS BIGINT) AS last_seq, count(*) AS records,
    count(*) || ' of ' || (SELECT count(*) FROM audit.plane_chain AS a WHERE a.population = z.population) || ' rows of this kind have time 0' AS detail
FROM audit.plane_chain AS z WHERE row_ts = 0
GROUP BY population
ORDER BY subject, place, first_seq, last_seq, detail
