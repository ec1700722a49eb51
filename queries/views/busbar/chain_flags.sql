-- view: chain_flags
-- kind: table
-- about: the records at which something about their place in the chain is to be said, with the record before each (previous_…).
-- params: tolerance hugeint = 300
-- applies: busbar sqlite 5-12, busbar postgres 6-11
WITH steps AS (
    SELECT population, scope, seq, ts, prev_hash, hash, row,
        lag(seq) OVER chain AS previous_seq, lag(hash) OVER chain AS previous_hash,
        lag(ts IGNORE NULLS) OVER chain AS previous_ts
    FROM audit.chain_records
    -- Chains of calls that the fast verifier proved whole; without it the table is empty.
    WHERE population <> 'mcp_calls' OR scope NOT IN (SELECT scope FROM source.cleared_calls)
    WINDOW chain AS (PARTITION BY population, scope ORDER BY seq, row)
), flagged AS (
    SELECT *,
        previous_seq = seq AS fork,
        coalesce(previous_seq < CAST(seq AS HUGEINT) - 1, false) AS gap,
        previous_seq IS NULL AND seq > 1 AS headless,
        coalesce(seq = 1 AND prev_hash <> '', false) AS genesis,
        coalesce(prev_hash = '' AND seq > 1, false) AS restart,
        coalesce(ts < previous_ts - $tolerance, false) AS disorder,
        NOT audit.is_digest(hash) OR NOT (prev_hash = '' OR audit.is_digest(prev_hash)) AS malformed,
        -- A candidate only: at a fork the record before is not the one to link to, and chain_faults looks at all of them.
        coalesce(NOT (prev_hash = '' AND seq > 1) AND (previous_seq = seq
            OR (previous_seq = CAST(seq AS HUGEINT) - 1 AND prev_hash IS DISTINCT FROM previous_hash)), false) AS unlinked
    FROM steps
)
SELECT population, scope, seq, row, ts, prev_hash, hash, previous_seq, previous_hash, previous_ts,
    coalesce(fork, false) AS fork, gap, headless, genesis, restart, disorder, coalesce(malformed, false) AS malformed, unlinked
FROM flagged
WHERE fork OR gap OR headless OR genesis OR restart OR disorder OR malformed OR unlinked
