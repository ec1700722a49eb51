-- view: import_named
-- kind: view
-- about: one turn of which a row can be missing that a check of another area names: a prompt that a sealed turn was admitted with
--   (R03), a text whose thinking alone stands in its invocation (B27, by message_key).
-- applies: maka sqlite 11-18
SELECT a.session_id, a.turn_id, 'R03' AS code, CAST(NULL AS VARCHAR) AS message_key
FROM audit.admissions AS a SEMI JOIN (
    SELECT i.session_id, i.turn_id FROM audit.inline_invocations AS i SEMI JOIN audit.terminals AS t ON t.invocation_id = i.invocation_id
) AS x ON x.session_id = a.session_id AND x.turn_id = a.turn_id
WHERE a.has_input
UNION ALL
SELECT t.session_id, t.turn_id, 'B27', t.message_key
FROM (SELECT * FROM audit.import_found WHERE meant = 'thinking' AND NOT converted) AS t
    ANTI JOIN (SELECT * FROM audit.import_found WHERE meant = 'assistant') AS a
    ON a.invocation_id = t.invocation_id AND a.message_key = t.message_key
