-- figure: chain_ends
-- about: every chain of a store with its ends, as a report keeps them.
SELECT population, scope, records, first_seq, last_seq, last_hash, first_ts, last_ts FROM audit.chains ORDER BY population, scope
