-- view: event_fields
-- kind: table
-- about: one row a task event of the plane records.
-- applies: busbar sqlite 10-12, busbar postgres 10-11
WITH decoded AS (
    SELECT _row, parent, seq, audit.signed_zeros(TRY(decode(body))) AS body FROM audit.plane_rows WHERE kind = 'task_event'
), read AS (
    SELECT *,
        TRY(json_extract(body, ['$.task_id', '$.seq', '$.ts', '$.kind', '$.context_id', '$.principal', '$.agent_id', '$.state',
            '$.request_id', '$.prev_hash', '$.hash', '$.digest_version'])) AS j,
        TRY(json_extract_string(body, ['$.task_id', '$.seq', '$.ts', '$.kind', '$.context_id', '$.principal', '$.agent_id', '$.state',
            '$.request_id', '$.prev_hash', '$.hash', '$.digest_version'])) AS t
    FROM decoded
), compared AS (
    -- Spelled as the gateway spells it, a body needs no second look: its members are these, each once. A request id or version
    -- of another type may hold what strict JSON has not, and be spelled again all the same.
    SELECT *, coalesce(starts_with(j[9], '"') AND (j[12] IS NULL OR regexp_full_match(j[12], '[0-9]+')) AND body = concat('{"task_id":', j[1],
        ',"seq":', j[2], ',"ts":', j[3], ',"kind":', j[4], ',"context_id":', j[5], ',"principal":', j[6], ',"agent_id":', j[7], ',"state":', j[8],
        ',"request_id":', j[9], ',"prev_hash":', j[10], ',"hash":', j[11], ',"digest_version":' || j[12], '}'), false) AS same
    FROM read
), weighed AS (
    SELECT *, CASE WHEN same THEN true ELSE audit.sound_object(body) END AS sound FROM compared
), fields AS (
    SELECT _row, parent, seq, sound, audit.text_of(j[1], t[1]) AS task_id, audit.u64_of(j[2]) AS digest_seq,
        audit.u64_of(j[3]) AS digest_ts, audit.text_of(j[4], t[4]) AS kind, audit.text_of(j[5], t[5]) AS context_id,
        audit.text_of(j[6], t[6]) AS principal, audit.text_of(j[7], t[7]) AS agent_id, audit.text_of(j[8], t[8]) AS state,
        audit.text_of(j[9], t[9]) AS request_id, audit.text_of(j[10], t[10]) AS prev_hash, audit.text_of(j[11], t[11]) AS hash,
        CAST(j[12] AS VARCHAR) AS digest_version
    FROM weighed
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
