-- figure: import_risks
-- about: what the conversion to come does to sessions, and what was lost that it will not mend.
-- params: limit bigint = 40
SELECT session_id, turn_id, effect, risk, code, first_seq, last_seq, rows, detail, count(*) OVER () AS total FROM audit.import_risks
ORDER BY list_position(['fails', 'cut', 'changed', 'costs', 'left out'], effect), session_id, first_seq, turn_id, risk, detail LIMIT $limit
