-- code: BUS-M06
-- title: Columns that nothing writes are set
-- severity: medium
-- applies: busbar sqlite 7-12
-- params: none
-- examines: raw.mcp_calls
-- proves: expires_at or version is set.
-- does not prove: Who set it.
-- meaning: An unknown program writes to this table.
-- next: Find the writer.
SELECT 'mcp_calls' AS subject, principal AS place, min(seq) AS first_seq, max(seq) AS last_seq, count(*) AS records,
    count(*) FILTER (expires_at IS NOT NULL) || ' with expires_at, ' || count(*) FILTER (version <> 0) || ' with version' AS detail
FROM raw.mcp_calls WHERE expires_at IS NOT NULL OR version <> 0
GROUP BY principal
ORDER BY subject, place, first_seq, last_seq, detail
