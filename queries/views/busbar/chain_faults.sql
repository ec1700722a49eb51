-- view: chain_faults
-- kind: table
-- about: one row a fault of a chain: what it is about, the record at which it shows (seq), its extent (first_seq to last_seq, records).
-- applies: busbar sqlite 5-12, busbar postgres 6-11
WITH unlinked AS (
    SELECT f.population, f.scope, f.seq,
        count(r.hash) AS candidates, count(*) FILTER (r.hash = f.prev_hash) AS matches
    FROM audit.chain_flags AS f
    JOIN audit.chain_records AS r ON r.population = f.population AND r.scope = f.scope AND CAST(r.seq AS HUGEINT) = CAST(f.seq AS HUGEINT) - 1
    WHERE f.unlinked AND f.prev_hash IS NOT NULL
    GROUP BY f.population, f.scope, f.seq, f.row
)
SELECT population, scope, seq, CASE WHEN digest IS NULL THEN 'undecodable' ELSE 'content' END AS about, seq AS first_seq, seq AS last_seq,
    CAST(1 AS HUGEINT) AS records
FROM audit.chain_content
UNION ALL
SELECT population, scope, seq, 'link', seq, seq, 1 FROM unlinked WHERE candidates > 0 AND matches = 0
UNION ALL
SELECT population, scope, seq, 'gap-inner', previous_seq + 1, seq - 1, CAST(seq AS HUGEINT) - previous_seq - 1 FROM audit.chain_flags WHERE gap
UNION ALL
SELECT population, scope, seq, 'head-missing', 1, seq - 1, CAST(seq AS HUGEINT) - 1 FROM audit.chain_flags WHERE headless
UNION ALL
SELECT population, scope, seq, 'genesis', seq, seq, 1 FROM audit.chain_flags WHERE genesis
UNION ALL
SELECT population, scope, seq, 'restart', seq, seq, 1 FROM audit.chain_flags WHERE restart
UNION ALL
SELECT population, scope, seq, 'order', seq, seq, 1 FROM audit.chain_flags WHERE disorder
UNION ALL
SELECT population, scope, seq, 'form', seq, seq, 1 FROM audit.chain_flags WHERE malformed
UNION ALL
SELECT population, scope, seq, 'fork', seq, seq, 1 FROM audit.chain_flags WHERE fork
