-- code: BUS-C05
-- title: A first record names a predecessor
-- severity: critical
-- applies: busbar sqlite 5-12, busbar postgres 6-11
-- params: none
-- examines: audit.chain_records
-- proves: Record 1 has a prev_hash.
-- does not prove: Where the chain really began.
-- meaning: The start of the chain was forged or renumbered.
-- next: Compare with a backup.
SELECT e.population AS subject, e.scope AS place, e.first_seq, e.last_seq, e.records,
    'record 1 has a prev_hash, it must have none' AS detail
FROM audit.chain_extents AS e
WHERE e.about = 'genesis'
ORDER BY subject, place, first_seq, last_seq, detail
