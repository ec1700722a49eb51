-- view: chains
-- kind: table
-- about: one row a chain: population, scope, its records, first and last number, hash at either end, times.
-- applies: busbar sqlite 5-12, busbar postgres 6-11
SELECT population, scope, count(*) AS records, min(seq) AS first_seq, max(seq) AS last_seq,
    arg_min_null(prev_hash, (seq, row)) AS first_prev_hash, arg_max_null(hash, (seq, row)) AS last_hash,
    min(ts) AS first_ts, max(ts) AS last_ts
FROM audit.chain_records
GROUP BY population, scope
