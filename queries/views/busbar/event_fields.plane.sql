-- view: event_fields
-- kind: part
-- about: one row a task event of the plane records.
-- applies: busbar sqlite 10-12
WITH decoded AS (
    SELECT _row, parent, seq, TRY(decode(body)) AS body FROM raw.plane_records WHERE kind = 'task_event' AND parent IS NOT NULL
), read AS (
    SELECT *, audit.sound_object(body) AS sound,
        TRY(json_extract(body, ['$.task_id', '$.seq', '$.ts', '$.kind', '$.context_id', '$.principal', '$.agent_id', '$.state',
            '$.request_id', '$.prev_hash', '$.hash', '$.digest_version'])) AS j
    FROM decoded
), fields AS (
    SELECT _row, parent, seq, sound, audit.literal_text(j[1]) AS task_id, audit.literal_u64(j[2]) AS digest_seq,
        audit.literal_u64(j[3]) AS digest_ts, audit.literal_text(j[4]) AS kind, audit.literal_text(j[5]) AS context_id,
        audit.literal_text(j[6]) AS principal, audit.literal_text(j[7]) AS agent_id, audit.literal_text(j[8]) AS state,
        audit.literal_text(j[9]) AS request_id, audit.literal_text(j[10]) AS prev_hash, audit.literal_text(j[11]) AS hash,
        CAST(j[12] AS VARCHAR) AS digest_version
    FROM read
), judged AS (
    SELECT *, CASE WHEN sound AND task_id IS NOT NULL AND digest_seq IS NOT NULL AND digest_ts IS NOT NULL AND kind IS NOT NULL
        AND context_id IS NOT NULL AND principal IS NOT NULL AND agent_id IS NOT NULL AND state IS NOT NULL AND prev_hash IS NOT NULL
        AND hash IS NOT NULL THEN true ELSE false END AS decodable
    FROM fields
)
SELECT 'task_event' AS population, parent AS scope, task_id, seq, CASE WHEN decodable THEN CAST(digest_ts AS HUGEINT) END AS ts, kind,
    context_id, principal, agent_id, state, request_id, CASE WHEN decodable THEN prev_hash END AS prev_hash,
    CASE WHEN decodable THEN hash END AS hash, digest_version, decodable,
    CAST(digest_seq AS HUGEINT) AS digest_seq, CAST(digest_ts AS HUGEINT) AS digest_ts, _row AS row
FROM judged
