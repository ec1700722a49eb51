-- view: call_fields
-- kind: table
-- about: one row a call record of the plane records, typed or neutral.
-- applies: busbar sqlite 10-12, busbar postgres 10-11
WITH decoded AS (
    SELECT _row, parent, seq, ts AS row_ts, body IS NOT NULL AS there, audit.signed_zeros(TRY(decode(body))) AS body
    FROM audit.plane_rows WHERE kind = 'call'
), read AS (
    SELECT *,
        TRY(json_extract(body, ['$.principal', '$.seq', '$.ts', '$.server', '$.tool', '$.outcome', '$.reason', '$.tool_digest',
            '$.pin_generation', '$.request_id', '$.prev_hash', '$.hash', '$.content'])) AS j,
        TRY(json_extract_string(body, ['$.principal', '$.seq', '$.ts', '$.server', '$.tool', '$.outcome', '$.reason', '$.tool_digest',
            '$.pin_generation', '$.request_id', '$.prev_hash', '$.hash', '$.content'])) AS t
    FROM decoded
), compared AS (
    -- Spelled as the gateway spells it, a body needs no second look: its members are these, each once. A request id that is no
    -- text may hold what strict JSON has not, and be spelled again all the same.
    SELECT *, coalesce(CASE WHEN j[13] IS NULL
        THEN starts_with(j[10], '"') AND body = concat('{"principal":', j[1], ',"seq":', j[2], ',"ts":', j[3], ',"server":', j[4], ',"tool":', j[5],
            ',"outcome":', j[6], ',"reason":', j[7], ',"tool_digest":', j[8], ',"pin_generation":', j[9], ',"request_id":', j[10],
            ',"prev_hash":', j[11], ',"hash":', j[12], '}')
        ELSE body = concat('{"seq":', j[2], ',"prev_hash":', j[11], ',"hash":', j[12], ',"content":', j[13], '}') END, false) AS same
    FROM read
), sound AS (
    SELECT *, CASE WHEN same THEN true ELSE audit.sound_object(body) END AS sound FROM compared
), bytes AS (
    SELECT *, j[13] IS NOT NULL AS neutral, audit.bytes_hex(j[13]) AS h FROM sound
), -- One frame a step: each begins where the one before ends.
frame_1 AS (
    SELECT *, 1 AS p1, audit.frame_length(h, 1) AS n1 FROM bytes
), frame_2 AS (
    SELECT *, p1 + 16 + 2 * n1 AS p2, audit.frame_length(h, p1 + 16 + 2 * n1) AS n2 FROM frame_1
), frame_3 AS (
    SELECT *, p2 + 16 + 2 * n2 AS p3, audit.frame_length(h, p2 + 16 + 2 * n2) AS n3 FROM frame_2
), frame_4 AS (
    SELECT *, p3 + 16 + 2 * n3 AS p4, audit.frame_length(h, p3 + 16 + 2 * n3) AS n4 FROM frame_3
), frame_5 AS (
    SELECT *, p4 + 16 + 2 * n4 AS p5, audit.frame_length(h, p4 + 16 + 2 * n4) AS n5 FROM frame_4
), frame_6 AS (
    SELECT *, p5 + 16 + 2 * n5 AS p6, audit.frame_length(h, p5 + 16 + 2 * n5) AS n6 FROM frame_5
), frame_7 AS (
    SELECT *, p6 + 16 + 2 * n6 AS p7, audit.frame_length(h, p6 + 16 + 2 * n6) AS n7 FROM frame_6
), fields AS (
    SELECT _row, parent, seq, body, same, sound, neutral, h, strlen(h) + 1 = p7 + 16 + 2 * n7 AS whole,
        audit.u64_of(j[2]) AS digest_seq, audit.text_of(j[11], t[11]) AS prev_hash, audit.text_of(j[12], t[12]) AS hash,
        CASE WHEN neutral THEN parent ELSE audit.text_of(j[1], t[1]) END AS principal,
        CASE WHEN neutral THEN audit.hex_u64(audit.frame_value(h, p1, n1)) ELSE audit.u64_of(j[3]) END AS digest_ts,
        CASE WHEN neutral THEN audit.hex_text(audit.frame_value(h, p2, n2)) ELSE audit.text_of(j[4], t[4]) END AS server,
        CASE WHEN neutral THEN audit.hex_text(audit.frame_value(h, p3, n3)) ELSE audit.text_of(j[5], t[5]) END AS tool,
        CASE WHEN neutral THEN audit.hex_text(audit.frame_value(h, p4, n4)) ELSE audit.text_of(j[6], t[6]) END AS outcome,
        CASE WHEN neutral THEN audit.hex_text(audit.frame_value(h, p5, n5)) ELSE audit.text_of(j[7], t[7]) END AS reason,
        CASE WHEN neutral THEN audit.hex_text(audit.frame_value(h, p6, n6)) ELSE audit.text_of(j[8], t[8]) END AS tool_digest,
        CASE WHEN neutral THEN audit.hex_u64(audit.frame_value(h, p7, n7)) ELSE audit.u64_of(j[9]) END AS pin_generation,
        CASE WHEN neutral THEN NULL ELSE audit.text_of(j[10], t[10]) END AS request_id
    FROM frame_7
), judged AS (
    SELECT *,
        CASE WHEN sound AND (NOT neutral OR whole) AND principal IS NOT NULL AND digest_seq IS NOT NULL AND digest_ts IS NOT NULL
            AND prev_hash IS NOT NULL AND hash IS NOT NULL AND server IS NOT NULL AND tool IS NOT NULL AND outcome IS NOT NULL
            AND reason IS NOT NULL AND tool_digest IS NOT NULL AND pin_generation IS NOT NULL THEN true ELSE false END AS decodable
    FROM fields
)
SELECT 'call' AS population, parent AS scope, principal, seq, CASE WHEN decodable THEN CAST(digest_ts AS HUGEINT) END AS ts,
    CASE WHEN decodable THEN prev_hash END AS prev_hash, CASE WHEN decodable THEN hash END AS hash,
    server, tool, outcome, reason, tool_digest, pin_generation, request_id, decodable AS readable, decodable,
    coalesce(decodable AND CASE WHEN same THEN true ELSE len(audit.members(body)) = CASE WHEN neutral THEN 4 ELSE 12 END END
        AND (neutral OR request_id IS NOT NULL), false) AS members,
    true AS canonical, digest_seq, digest_ts, CASE WHEN neutral THEN h END AS content, _row AS row
FROM judged
