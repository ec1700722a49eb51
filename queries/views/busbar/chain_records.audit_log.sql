-- view: chain_records
-- kind: part
-- about: one row a chained record of any population. hash and prev_hash are NULL where they cannot be read.
-- applies: busbar sqlite 5-12, busbar postgres 6-11
SELECT 'audit_log' AS population, 'audit_log' AS scope, seq, CAST(ts AS HUGEINT) AS ts, prev_hash, hash, _row AS row
FROM raw.audit_log WHERE seq IS NOT NULL
