-- code: MAKA-D12
-- title: Rows of a converted turn that the ledger does not have
-- severity: high
-- applies: maka sqlite 8-18
-- params: none
-- examines: audit.import_rows
-- proves: The turn's converted run has ended, and has fewer events of these rows than they are due; or, at low severity, a session
--   has turns as conversation text alone beside turns in full.
-- does not prove: That the rows are lost: they stand in session_messages.
-- meaning: Half a conversion: what is missing is shown nowhere, and nothing will convert it.
-- next: Keep session_messages; restore the turn from it.
WITH missing AS (
    SELECT session_id, turn_id, min(sequence) AS first_seq, max(sequence) AS last_seq, count(*) AS rows,
        arg_min(kind || ' ' || row_id, sequence) AS first_row, sum(due - found) AS events
    FROM audit.import_rows WHERE code = 'D12' GROUP BY session_id, turn_id
), modes AS (
    SELECT r.session_id, count(DISTINCT r.turn_id) FILTER (r.mode = 'text') AS texts, count(DISTINCT r.turn_id) FILTER (r.mode = 'full') AS whole,
        min(l.first_seq) FILTER (r.mode = 'text') AS first_seq, max(l.last_seq) FILTER (r.mode = 'text') AS last_seq
    FROM audit.import_runs AS r JOIN audit.import_turns AS l ON l.session_id = r.session_id AND l.turn_id = r.turn_id
    WHERE NOT r.foreign_origin AND r.ended AND r.facts > 0 GROUP BY r.session_id
), left_out AS (
    SELECT session_id, count(*) AS rows FROM audit.import_rows WHERE rule = '4.4 not of the conversation text' GROUP BY session_id
)
SELECT 'session_messages' AS subject, m.session_id AS place, m.first_seq, m.last_seq, m.rows AS records,
    'turn ' || m.turn_id || ': ' || m.rows || ' row(s), ' || m.events || ' event(s) missing, the first ' || m.first_row
        || coalesce('; ' || c.generation || ', ' || c.shape || ': ' || c.cause, '') AS detail, 'high' AS severity
FROM missing AS m LEFT JOIN audit.import_causes AS c ON c.session_id = m.session_id AND c.turn_id = m.turn_id
UNION ALL
SELECT 'session_messages', m.session_id, m.first_seq, m.last_seq, l.rows,
    m.texts || ' turn(s) as conversation text alone beside ' || m.whole || ' in full: ' || l.rows || ' row(s) left out', 'low'
FROM modes AS m JOIN left_out AS l ON l.session_id = m.session_id WHERE m.texts > 0 AND m.whole > 0
ORDER BY subject, place, first_seq, last_seq, detail
