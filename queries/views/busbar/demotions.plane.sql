-- view: demotions
-- kind: part
-- about: one row a demoted server: when it was recorded and why.
-- applies: busbar sqlite 10-12, busbar postgres 10-11
SELECT id AS server, json_extract_string(text, '$.reason') AS reason, ts AS recorded_at
FROM (SELECT id, ts, TRY(decode(body)) AS text FROM raw.plane_records WHERE kind = 'demotion' AND parent IS NULL)
WHERE coalesce(json_valid(text), false)
