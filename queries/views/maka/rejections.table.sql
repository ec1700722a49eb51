-- view: rejections
-- kind: part
-- about: one admitted turn whose start was refused.
-- applies: maka sqlite 11-18
SELECT session_id, turn_id FROM raw.core_root_turn_start_rejections
