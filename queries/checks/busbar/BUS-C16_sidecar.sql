-- code: BUS-C16
-- title: A row and the record in it say different things
-- severity: critical
-- applies: busbar sqlite 10-12, busbar postgres 10-11
-- params: none
-- examines: audit.plane_chain
-- proves: seq, time, principal or task of the row differ from those inside the digested body.
-- does not prove: Which of the two was changed.
-- meaning: The columns beside the body decide order and retention, and no digest covers them.
-- next: Trust the body; compare the row with a backup before the next purge.
WITH differing AS (
    SELECT population, scope, seq,
        CASE WHEN digest_seq <> seq THEN 'seq ' WHEN body_scope <> scope THEN 'scope ' ELSE 'ts ' END AS what
    FROM audit.plane_chain
    -- A row time of 0 is the known defect that BUS-C17 names.
    WHERE decodable AND (digest_seq <> seq OR (ts <> row_ts AND row_ts <> 0) OR body_scope <> scope)
)
SELECT population AS subject, scope AS place, min(seq) AS first_seq, max(seq) AS last_seq, count(*) AS records,
    count(*) || ' row(s) differ from their body in: ' || string_agg(DISTINCT trim(what), ', ' ORDER BY trim(what)) AS detail
FROM differing GROUP BY population, scope
ORDER BY subject, place, first_seq, last_seq, detail
