-- view: event_fields
-- kind: part
-- about: one row a task event of the plane records.
-- applies: busbar sqlite 10-12, busbar postgres 10-11
WITH decoded AS (
    SELECT _row, parent, seq, audit.signed_zeros(TRY(decode(body))) AS body FROM audit.plane_rows WHERE kind = 'task_event'
), read AS (
    SELECT *, audit.sound_object(body) AS sound,
        TRY(json_extract(body, ['$.task_id', '$.seq', '$.ts', '$.kind', '$.context_id', '$.principal', '$.agent_id', '$.state',
            '$.request_id', '$.prev_hash', '$.hash', '$.digest_version'])) AS j,
        TRY(json_extract_string(body, ['$.task_id', '$.seq', '$.ts', '$.kind', '$.context_id', '$.principal', '$.agent_id', '$.state',
            '$.request_id', '$.prev_hash', '$.hash', '$.digest_version'])) AS t
    FROM decoded
), fields AS (
    SELECT _row, parent, seq, sound, audit.text_of(j[1], t[1]) AS task_id, audit.u64_of(j[2]) AS digest_seq,
        audit.u64_of(j[3]) AS digest_ts, audit.text_of(j[4], t[4]) AS kind, audit.text_of(j[5], t[5]) AS context_id,
        audit.text_of(j[6], t[6]) AS principal, audit.text_of(j[7], t[7]) AS agent_id, audit.text_of(j[8], t[8]) AS state,
        audit.text_of(j[9], t[9]) AS request_id, audit.text_of(j[10], t[10]) AS prev_hash, audit.text_of(j[11], t[11]) AS hash,
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
