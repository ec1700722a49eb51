-- view: chain_records
-- kind: part
-- about: one row a chained record of any population. hash and prev_hash are NULL where they cannot be read.
-- applies: busbar sqlite 10-12, busbar postgres 10-11
SELECT population, scope, seq, ts, prev_hash, hash, row FROM audit.plane_chain WHERE scope IS NOT NULL AND seq IS NOT NULL
