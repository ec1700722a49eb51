-- view: chain_content
-- kind: part
-- about: records whose digest, recomputed here in SQL, is not the stored one, and records that cannot be decoded (digest NULL).
-- applies: busbar sqlite 7-12
WITH digested AS (
    SELECT c.scope, c.seq, c.row, r.hash, c.decodable,
        CASE WHEN c.decodable THEN sha256(
            audit.framed_text(r.prev_hash) || audit.framed_text(c.principal) || audit.framed_int(r.seq) || audit.framed_int(r.ts)
            || audit.framed_text(c.server) || audit.framed_text(c.tool) || audit.framed_text(c.outcome) || audit.framed_text(c.reason)
            || audit.framed_text(c.tool_digest) || audit.framed_int(c.pin_generation)) END AS digest
    -- Chains that the fast verifier proved whole need not be digested again; without it the table is empty.
    FROM (SELECT * FROM audit.calls AS a ANTI JOIN source.cleared_calls AS w ON w.scope = a.scope WHERE a.population = 'mcp_calls') AS c
    JOIN raw.mcp_calls AS r ON r._row = c.row
)
SELECT 'mcp_calls' AS population, scope, seq, row, digest FROM digested
WHERE scope IS NOT NULL AND seq IS NOT NULL AND (NOT decodable OR digest <> hash)
