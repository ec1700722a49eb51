-- verb: purge_mcp_calls_before
-- table: mcp_calls
-- about: rows of mcp_calls that go, each by its key.
-- applies: busbar sqlite 7-9
-- params: cutoff hugeint
SELECT 'mcp_calls' AS table_name, [principal, CAST(seq AS VARCHAR)] AS key, 'mcp_calls' AS population, principal AS scope,
    CAST(seq AS HUGEINT) AS seq, CAST(ts AS HUGEINT) AS ts, 'predicate' AS why
FROM raw.mcp_calls WHERE ts < $cutoff
