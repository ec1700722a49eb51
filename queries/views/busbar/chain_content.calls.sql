-- view: chain_content
-- kind: part
-- about: records whose digest, recomputed here in SQL, is not the stored one, and records that cannot be decoded (digest NULL).
-- applies: busbar sqlite 7-12
WITH digested AS (
    SELECT population, scope, seq, row, hash, decodable,
        CASE WHEN decodable THEN sha256(
            audit.framed_text(prev_hash) || audit.framed_text(CASE WHEN content IS NULL THEN principal ELSE scope END) || audit.framed_int(digest_seq)
            || CASE WHEN content IS NULL THEN
                audit.framed_int(digest_ts) || audit.framed_text(server) || audit.framed_text(tool) || audit.framed_text(outcome)
                || audit.framed_text(reason) || audit.framed_text(tool_digest) || audit.framed_int(pin_generation)
            ELSE unhex(content) END) END AS digest
    FROM audit.call_fields
)
SELECT population, scope, seq, row, digest FROM digested
WHERE scope IS NOT NULL AND seq IS NOT NULL AND (NOT decodable OR digest <> hash)
