-- view: chain_records
-- kind: part
-- about: one row a chained record of any population. hash and prev_hash are NULL where they cannot be read.
-- applies: busbar sqlite 7-12
SELECT 'mcp_calls' AS population, principal AS scope, seq, CAST(ts AS HUGEINT) AS ts, prev_hash, hash, _row AS row
FROM raw.mcp_calls WHERE principal IS NOT NULL AND seq IS NOT NULL
