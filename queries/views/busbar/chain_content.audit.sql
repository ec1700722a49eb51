-- view: chain_content
-- kind: part
-- about: admin audit records whose recomputed digest is not the stored one, or that cannot be decoded (digest NULL).
-- applies: busbar sqlite 5-12, busbar postgres 6-11
WITH digested AS (
    SELECT population, scope, seq, row, hash, decodable,
        CASE WHEN NOT decodable THEN NULL
            WHEN content IS NULL THEN sha256(prev_hash || '|' || digest_seq || '|' || digest_ts || '|' || action || '|' || resource || '|'
                || outcome || '|' || principal)
            ELSE sha256(encode(prev_hash || '|' || digest_seq) || unhex(content)) END AS digest
    FROM audit.audit_fields
)
SELECT population, scope, seq, row, digest FROM digested
WHERE scope IS NOT NULL AND seq IS NOT NULL AND (NOT decodable OR digest <> hash)
