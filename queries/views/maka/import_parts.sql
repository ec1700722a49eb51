-- view: import_parts
-- kind: table
-- about: one row of session_messages, the page in which the merged converter reads it, and with which part of its turn it is
--   converted; a turn in more than one part is cut at the edge of a page (maka sheet 4.6, 4.7).
-- applies: maka sqlite 8-18
SELECT p.session_id, p.sequence, p.page, p.part, r.turn_id, r.type, r.steering_event IS NULL AND r.type = 'user' AS says
FROM source.page_facts AS p JOIN audit.legacy_rows AS r ON r.session_id = p.session_id AND r.sequence = p.sequence
