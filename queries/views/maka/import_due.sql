-- view: import_due
-- kind: table
-- about: one fact that a readable row of a turn is due as (part: 1, or the thinking after the text), and which one it is among
--   equals: like counts rows of one id and kind by time, as conversion does, alike those of one kind and content.
-- applies: maka sqlite 8-18
WITH apart AS (
    SELECT session_id, turn_id, sequence, message_id, message_ts, unnest(meant) AS meant, unnest(meanings) AS meaning,
        generate_subscripts(meant, 1) AS part
    FROM audit.legacy_rows WHERE valid AND problems = 0 AND turn_id IS NOT NULL AND len(meant) > 0 AND steering_event IS NULL
)
SELECT *, row_number() OVER (PARTITION BY session_id, turn_id, message_id, meant ORDER BY message_ts, sequence, part) AS alike,
    row_number() OVER (PARTITION BY session_id, turn_id, meant, meaning ORDER BY sequence, part) AS same
FROM apart
