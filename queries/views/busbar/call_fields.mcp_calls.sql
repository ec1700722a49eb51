-- view: call_fields
-- kind: part
-- about: one row a call record, its body read once. decodable: the digest can be recomputed. members: exactly the seven
--   members of a call body, each of its type. canonical: spelled as the gateway spells it.
-- applies: busbar sqlite 7-12
WITH read AS (
    SELECT _row, principal, seq, ts, prev_hash, hash, body,
        TRY(json_extract(body, ['$.outcome', '$.pin_generation', '$.reason', '$.request_id', '$.server', '$.tool', '$.tool_digest'])) AS j
    FROM raw.mcp_calls
), spelled AS (
    SELECT *,
        coalesce(body = '{"outcome":' || j[1] || ',"pin_generation":' || j[2] || ',"reason":' || j[3] || ',"request_id":' || j[4]
            || ',"server":' || j[5] || ',"tool":' || j[6] || ',"tool_digest":' || j[7] || '}', false) AS same
    FROM read
), judged AS (
    SELECT *,
        -- A control character is \u00xx in lower case there; DuckDB writes it in upper case, so case is left out of account then.
        same OR (contains(j[1] || j[3] || j[4] || j[5] || j[6] || j[7], '\u00')
            AND lower(body) = lower('{"outcome":' || j[1] || ',"pin_generation":' || j[2] || ',"reason":' || j[3] || ',"request_id":'
                || j[4] || ',"server":' || j[5] || ',"tool":' || j[6] || ',"tool_digest":' || j[7] || '}')) AS spelled_right,
        CASE WHEN same THEN true ELSE audit.sound_object(body) END AS sound
    FROM spelled
)
SELECT 'mcp_calls' AS population, principal AS scope, principal, seq, CAST(ts AS HUGEINT) AS ts, prev_hash, hash,
    audit.literal_text(j[5]) AS server, audit.literal_text(j[6]) AS tool, audit.literal_text(j[1]) AS outcome,
    audit.literal_text(j[3]) AS reason, audit.literal_text(j[7]) AS tool_digest, audit.literal_u64(j[2]) AS pin_generation,
    audit.literal_text(j[4]) AS request_id,
    (sound AND server IS NOT NULL AND tool IS NOT NULL AND outcome IS NOT NULL AND reason IS NOT NULL AND tool_digest IS NOT NULL
        AND pin_generation IS NOT NULL) AS readable,
    (readable AND principal IS NOT NULL AND seq IS NOT NULL AND ts IS NOT NULL AND prev_hash IS NOT NULL AND hash IS NOT NULL) AS decodable,
    (readable AND request_id IS NOT NULL AND (same OR len(audit.members(body)) = 7)) AS members,
    coalesce(spelled_right, false) AS canonical,
    audit.unsigned(seq) AS digest_seq, audit.unsigned(ts) AS digest_ts, CAST(NULL AS VARCHAR) AS content, _row AS row
FROM judged
