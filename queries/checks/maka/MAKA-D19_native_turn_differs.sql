-- code: MAKA-D19
-- title: A native run lacks what a row of its turn says
-- severity: high
-- applies: maka sqlite 8-18
-- params: none
-- examines: audit.import_rows
-- proves: The turn's native run has ended, and no event of it says what the row says.
-- does not prove: Which writer failed. What is known of healthy turns is left out: running states, retired notes, copies of steering.
-- meaning: The turn was written twice, and the two went out of step; the ledger is what the user sees.
-- next: Compare the turn with its rows; keep session_messages.
WITH held AS (
    SELECT session_id, turn_id, meant, count(*) AS n FROM audit.import_found WHERE NOT converted GROUP BY session_id, turn_id, meant
), told AS (
    SELECT session_id, turn_id, split_part(kind, ' ', 1) AS meant, count(*) AS n FROM audit.import_rows WHERE fate = 'owned' GROUP BY session_id, turn_id, 3
), lacking AS (
    SELECT session_id, turn_id, split_part(kind, ' ', 1) AS meant, min(sequence) AS first_seq, max(sequence) AS last_seq, count(*) AS rows,
        arg_min(row_id, sequence) AS first_row
    FROM audit.import_rows WHERE code = 'D19' GROUP BY session_id, turn_id, 3
)
SELECT 'session_messages' AS subject, l.session_id AS place, l.first_seq, l.last_seq, l.rows AS records,
    'turn ' || l.turn_id || ': ' || l.rows || ' ' || l.meant || ' row(s), the first ' || l.first_row
        || CASE WHEN coalesce(h.n, 0) > coalesce(t.n, 0) THEN ': an event says something else' ELSE ': no event' END AS detail
FROM lacking AS l LEFT JOIN held AS h ON h.session_id = l.session_id AND h.turn_id = l.turn_id AND h.meant = l.meant
    LEFT JOIN told AS t ON t.session_id = l.session_id AND t.turn_id = l.turn_id AND t.meant = l.meant
ORDER BY subject, place, first_seq, last_seq, detail
