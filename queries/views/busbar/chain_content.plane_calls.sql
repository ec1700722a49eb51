-- view: chain_content
-- kind: part
-- about: plane call records whose recomputed digest is not the stored one, or that cannot be decoded (digest NULL).
-- applies: busbar sqlite 10-12, busbar postgres 10-11
WITH digested AS (
    SELECT population, scope, seq, row, hash, decodable,
        CASE WHEN NOT decodable THEN NULL
            WHEN content IS NOT NULL THEN sha256(
                audit.framed_text(prev_hash) || audit.framed_text(scope) || audit.framed_int(digest_seq) || unhex(content))
            ELSE sha256(
                audit.framed_text(prev_hash) || audit.framed_text(principal) || audit.framed_int(digest_seq) || audit.framed_int(digest_ts)
                || audit.framed_text(server) || audit.framed_text(tool) || audit.framed_text(outcome) || audit.framed_text(reason)
                || audit.framed_text(tool_digest) || audit.framed_int(pin_generation)) END AS digest
    FROM audit.call_fields WHERE population = 'call'
)
SELECT population, scope, seq, row, digest FROM digested
WHERE scope IS NOT NULL AND seq IS NOT NULL AND (NOT decodable OR digest <> hash)
