-- figure: timeline
-- about: records per interval and population, and how many of them show a fault.
-- params: start bigint, until bigint, step bigint
WITH faulty AS (SELECT DISTINCT population, scope, seq FROM audit.chain_faults)
SELECT r.population, CAST((r.ts - $start) // $step AS BIGINT) AS bucket, count(*) AS records, count(f.seq) AS faults
FROM audit.chain_records AS r
LEFT JOIN faulty AS f ON f.population = r.population AND f.scope = r.scope AND f.seq = r.seq
WHERE r.ts > 0 AND r.ts BETWEEN $start AND $until
GROUP BY r.population, bucket
ORDER BY r.population, bucket
