-- view: chain_extents
-- kind: view
-- about: one row a chain and kind of fault: first bad record, last bad record, how many records.
-- applies: busbar sqlite 5-12, busbar postgres 6-11
SELECT population, scope, about, min(first_seq) AS first_seq, max(last_seq) AS last_seq, sum(records) AS records
FROM audit.chain_faults GROUP BY population, scope, about
