-- view: call_fields
-- kind: table
-- about: one row a call record, its body read once. decodable: the digest can be recomputed. members: exactly the seven
--   members of a call body, each of its type. canonical: spelled as the gateway spells it.
-- applies: busbar sqlite 7-12
WITH read AS (
    SELECT _row, principal, seq, ts, prev_hash, hash, body,
        TRY(json_extract(body, ['$.outcome', '$.pin_generation', '$.reason', '$.request_id', '$.server', '$.tool', '$.tool_digest'])) AS j,
        TRY(json_extract_string(body, ['$.outcome', '$.pin_generation', '$.reason', '$.request_id', '$.server', '$.tool', '$.tool_digest'])) AS t
    FROM raw.mcp_calls
), spelled AS (
    SELECT *, concat('{"outcome":', j[1], ',"pin_generation":', j[2], ',"reason":', j[3], ',"request_id":', j[4], ',"server":', j[5],
        ',"tool":', j[6], ',"tool_digest":', j[7], '}') AS spelling
    FROM read
), compared AS (
    -- A request id that is no text may hold what strict JSON has not, and be spelled again all the same.
    SELECT *, coalesce(body = spelling AND starts_with(j[4], '"'), false) AS same FROM spelled
), judged AS (
    -- CASE, not OR: only the few bodies that are spelled otherwise are worth the second look.
    SELECT *,
        -- A control character is \u00xx in lower case there; DuckDB writes it in upper case, so case is left out of account then.
        CASE WHEN body = spelling THEN true ELSE coalesce(contains(spelling, '\u00') AND lower(body) = lower(spelling), false) END AS spelled_right,
        CASE WHEN same THEN true ELSE audit.sound_object(body) END AS sound
    FROM compared
), fields AS (
    -- A step of its own: a name used in the SELECT that defines it would be computed again at every use.
    SELECT _row, principal, seq, ts, prev_hash, hash, body, same, spelled_right, sound,
        audit.text_of(j[5], t[5]) AS server, audit.text_of(j[6], t[6]) AS tool, audit.text_of(j[1], t[1]) AS outcome,
        audit.text_of(j[3], t[3]) AS reason, audit.text_of(j[7], t[7]) AS tool_digest,
        CASE WHEN same THEN audit.u64_of(j[2]) ELSE audit.u64_of(TRY(json_extract(audit.signed_zeros(body), '$.pin_generation'))) END
            AS pin_generation,
        audit.text_of(j[4], t[4]) AS request_id
    FROM judged
), told AS (
    SELECT *, (sound AND server IS NOT NULL AND tool IS NOT NULL AND outcome IS NOT NULL AND reason IS NOT NULL
        AND tool_digest IS NOT NULL AND pin_generation IS NOT NULL) AS readable
    FROM fields
)
SELECT 'mcp_calls' AS population, principal AS scope, principal, seq, CAST(ts AS HUGEINT) AS ts, prev_hash, hash,
    server, tool, outcome, reason, tool_digest, pin_generation, request_id, readable,
    (readable AND principal IS NOT NULL AND seq IS NOT NULL AND ts IS NOT NULL AND prev_hash IS NOT NULL AND hash IS NOT NULL) AS decodable,
    (readable AND request_id IS NOT NULL AND CASE WHEN same THEN true ELSE len(audit.members(body)) = 7 END) AS members,
    spelled_right AS canonical, audit.unsigned(seq) AS digest_seq, audit.unsigned(ts) AS digest_ts,
    CAST(NULL AS VARCHAR) AS content, _row AS row
FROM told
