-- view: chain_content
-- kind: part
-- about: task events whose recomputed digest is not the stored one, or that cannot be decoded (digest NULL).
-- applies: busbar sqlite 8-12, busbar postgres 10-11
WITH digested AS (
    SELECT population, scope, seq, row, hash, decodable,
        CASE WHEN NOT decodable THEN NULL
            WHEN digest_version = '2' THEN sha256(
                encode('busbar.a2a.taskchain.v2' || chr(0)) || audit.little_text(prev_hash) || audit.little_text(task_id)
                || audit.little_int(digest_seq::UBIGINT) || audit.little_int(digest_ts::UBIGINT) || audit.little_text(kind)
                || audit.little_text(context_id) || audit.little_text(principal) || audit.little_text(agent_id) || audit.little_text(state))
            ELSE sha256(prev_hash || '|' || task_id || '|' || digest_seq || '|' || digest_ts || '|' || kind || '|' || context_id || '|'
                || principal || '|' || agent_id || '|' || state) END AS digest
    FROM audit.event_fields
)
SELECT population, scope, seq, row, digest FROM digested
WHERE scope IS NOT NULL AND seq IS NOT NULL AND (NOT decodable OR digest <> hash)
