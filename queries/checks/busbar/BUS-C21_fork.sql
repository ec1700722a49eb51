-- code: BUS-C21
-- title: Two records have one place in a chain
-- severity: critical
-- applies: busbar sqlite 5-12, busbar postgres 6-11
-- params: none
-- examines: audit.chain_records
-- proves: A number occurs twice in one chain.
-- does not prove: Which branch is the true one.
-- meaning: Two writers, or an inserted record.
-- next: Look at both records; find out whether two gateways wrote to one store.
SELECT e.population AS subject, e.scope AS place, e.first_seq, e.last_seq, e.records,
    e.records || ' further record(s) at a number already taken' AS detail
FROM audit.chain_extents AS e
WHERE e.about = 'fork'
ORDER BY subject, place, first_seq, last_seq, detail
