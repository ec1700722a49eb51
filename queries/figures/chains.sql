-- figure: chains
-- about: every chain with its verdict.
SELECT population, scope, records, first_seq, last_seq, first_prev_hash, last_hash, first_ts, last_ts, verdict, about, first_bad, last_bad
FROM audit.chain_verdicts
ORDER BY population, scope
