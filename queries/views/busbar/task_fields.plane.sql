-- view: task_fields
-- kind: part
-- about: one row a task of the plane records; task_id is the row's, body_task_id the one inside.
-- applies: busbar sqlite 10-12, busbar postgres 10-11
WITH decoded AS (
    SELECT _row, id, ts, disposition, TRY(decode(body)) AS body FROM raw.plane_records WHERE kind = 'task' AND parent IS NULL
), read AS (
    SELECT *, audit.sound_object(body) AS sound,
        TRY(json_extract(body, ['$.task_id', '$.context_id', '$.principal', '$.direction', '$.state', '$.agent_id',
            '$.artifact_cursor', '$.push_callback', '$.created_at', '$.updated_at'])) AS j,
        TRY(json_extract_string(body, ['$.task_id', '$.context_id', '$.principal', '$.direction', '$.state', '$.agent_id',
            '$.artifact_cursor', '$.push_callback', '$.created_at', '$.updated_at'])) AS t
    FROM decoded
), fields AS (
    SELECT _row, id, ts, disposition, sound, audit.text_of(j[1], t[1]) AS body_task_id, audit.text_of(j[2], t[2]) AS context_id,
        audit.text_of(j[3], t[3]) AS principal, audit.text_of(j[4], t[4]) AS direction, audit.text_of(j[5], t[5]) AS state,
        audit.text_of(j[6], t[6]) AS agent_id,
        CASE WHEN regexp_full_match(j[7], '-?[0-9]{1,25}') THEN TRY_CAST(j[7] AS HUGEINT) END AS artifact_cursor,
        audit.text_of(j[8], t[8]) AS push_callback,
        CASE WHEN regexp_full_match(j[9], '-?[0-9]{1,25}') THEN TRY_CAST(j[9] AS HUGEINT) END AS created_at,
        CASE WHEN regexp_full_match(j[10], '-?[0-9]{1,25}') THEN TRY_CAST(j[10] AS HUGEINT) END AS updated_at
    FROM read
)
SELECT 'plane' AS era, 'task' AS population, id AS task_id, body_task_id, context_id, principal, direction, state, agent_id,
    artifact_cursor, push_callback, created_at, updated_at, disposition, CAST(ts AS HUGEINT) AS row_ts,
    CASE WHEN sound AND id IS NOT NULL AND body_task_id IS NOT NULL AND context_id IS NOT NULL AND principal IS NOT NULL AND direction IS NOT NULL
        AND state IS NOT NULL AND agent_id IS NOT NULL AND artifact_cursor IS NOT NULL AND push_callback IS NOT NULL
        AND created_at IS NOT NULL AND updated_at IS NOT NULL THEN true ELSE false END AS decodable,
    _row AS row
FROM fields
