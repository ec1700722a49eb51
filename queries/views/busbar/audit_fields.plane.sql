-- view: audit_fields
-- kind: part
-- about: one row an admin audit record of the plane records: typed, or neutral with one of three contents (legacy, core, kernel).
-- applies: busbar sqlite 10-12, busbar postgres 10-11
WITH decoded AS (
    SELECT _row, parent, seq, audit.signed_zeros(TRY(decode(body))) AS body FROM audit.plane_rows WHERE kind = 'audit'
), read AS (
    SELECT *, audit.sound_object(body) AS sound,
        TRY(json_extract(body, ['$.seq', '$.ts', '$.action', '$.resource', '$.outcome', '$.principal', '$.prev_hash', '$.hash',
            '$.content'])) AS j,
        TRY(json_extract_string(body, ['$.seq', '$.ts', '$.action', '$.resource', '$.outcome', '$.principal', '$.prev_hash', '$.hash',
            '$.content'])) AS t
    FROM decoded
), bytes AS (
    SELECT *, audit.bytes_hex(j[9]) AS h FROM read
), variants AS (
    SELECT *,
        CASE WHEN j[9] IS NULL THEN 'typed'
            WHEN starts_with(h, '7c') THEN 'legacy'
            WHEN starts_with(h, '000000000000001a6275736261722e61756469742e61646d696e636861696e2e7632') THEN 'core'
            WHEN starts_with(h, '000000000000000008') THEN 'kernel'
            ELSE 'unknown' END AS variant,
        CASE WHEN starts_with(h, '7c') THEN string_split(audit.hex_text(h), '|') END AS parts
    FROM bytes
), -- One frame a step: each begins where the one before ends.
frame_1 AS (
    SELECT *, CASE variant WHEN 'core' THEN 69 WHEN 'kernel' THEN 3 END AS p1, audit.frame_length(h, CASE variant WHEN 'core' THEN 69 WHEN 'kernel' THEN 3 END) AS n1 FROM variants
), frame_2 AS (
    SELECT *, p1 + 16 + 2 * n1 AS p2, audit.frame_length(h, p1 + 16 + 2 * n1) AS n2 FROM frame_1
), frame_3 AS (
    SELECT *, p2 + 16 + 2 * n2 AS p3, audit.frame_length(h, p2 + 16 + 2 * n2) AS n3 FROM frame_2
), frame_4 AS (
    SELECT *, p3 + 16 + 2 * n3 AS p4, audit.frame_length(h, p3 + 16 + 2 * n3) AS n4 FROM frame_3
), frame_5 AS (
    SELECT *, p4 + 16 + 2 * n4 AS p5, audit.frame_length(h, p4 + 16 + 2 * n4) AS n5 FROM frame_4
), fields AS (
    SELECT _row, parent, seq, sound, variant, h,
        CASE variant WHEN 'typed' THEN true WHEN 'legacy' THEN len(parts) >= 6 WHEN 'unknown' THEN false ELSE strlen(h) + 1 = p5 + 16 + 2 * n5 END AS whole,
        audit.u64_of(j[1]) AS digest_seq, audit.text_of(j[7], t[7]) AS prev_hash, audit.text_of(j[8], t[8]) AS hash,
        CASE variant WHEN 'typed' THEN audit.u64_of(j[2]) WHEN 'legacy' THEN audit.u64_of(nullif(parts[2], ''))
            ELSE audit.hex_u64(audit.frame_value(h, p1, n1)) END AS digest_ts,
        -- A legacy text with a bar inside a field cannot be split with certainty; the digest still covers every byte of it.
        CASE variant WHEN 'typed' THEN audit.text_of(j[3], t[3]) WHEN 'legacy' THEN parts[3]
            ELSE audit.hex_text(audit.frame_value(h, p2, n2)) END AS action,
        CASE variant WHEN 'typed' THEN audit.text_of(j[4], t[4]) WHEN 'legacy' THEN array_to_string(parts[4:-3], '|')
            ELSE audit.hex_text(audit.frame_value(h, p3, n3)) END AS resource,
        CASE variant WHEN 'typed' THEN audit.text_of(j[5], t[5]) WHEN 'legacy' THEN parts[-2]
            ELSE audit.hex_text(audit.frame_value(h, p4, n4)) END AS outcome,
        CASE variant WHEN 'typed' THEN audit.text_of(j[6], t[6]) WHEN 'legacy' THEN parts[-1]
            ELSE audit.hex_text(audit.frame_value(h, p5, n5)) END AS principal
    FROM frame_5
), judged AS (
    SELECT *, CASE WHEN sound AND whole AND digest_seq IS NOT NULL AND digest_ts IS NOT NULL AND prev_hash IS NOT NULL AND hash IS NOT NULL
        AND action IS NOT NULL AND resource IS NOT NULL AND outcome IS NOT NULL AND principal IS NOT NULL THEN true ELSE false END AS decodable
    FROM fields
)
SELECT 'audit' AS population, parent AS scope, seq, CASE WHEN decodable THEN CAST(digest_ts AS HUGEINT) END AS ts, action, resource, outcome,
    principal, CASE WHEN decodable THEN prev_hash END AS prev_hash, CASE WHEN decodable THEN hash END AS hash, decodable, variant,
    CAST(digest_seq AS HUGEINT) AS digest_seq, CAST(digest_ts AS HUGEINT) AS digest_ts,
    CASE WHEN variant <> 'typed' THEN h END AS content, _row AS row
FROM judged
