-- code: BUS-C07
-- title: A sequence below 1 or a time before 1970
-- severity: high
-- applies: busbar sqlite 5-12, busbar postgres 6-11
-- params: none
-- examines: audit.chain_records
-- proves: seq < 1 or ts < 0.
-- does not prove: Intent.
-- meaning: A number overflowed at writing, or was edited.
-- next: Look at the records and at the plug-in version that wrote them.
WITH wrong AS (
    SELECT population, scope, seq, 'seq below 1' AS fault FROM audit.chain_records WHERE seq < 1
    UNION ALL
    SELECT population, scope, seq, 'ts below 0' FROM audit.chain_records WHERE ts < 0
)
SELECT population AS subject, scope AS place, min(seq) AS first_seq, max(seq) AS last_seq, count(DISTINCT seq) AS records,
    string_agg(DISTINCT fault, ', ' ORDER BY fault) AS detail
FROM wrong GROUP BY population, scope
ORDER BY subject, place, first_seq, last_seq, detail
