-- code: MAKA-D11
-- title: A row that was converted twice
-- severity: high
-- applies: maka sqlite 8-18
-- params: none
-- examines: audit.ledger_events
-- proves: Converted runs have more events of one row and kind than the row is due.
-- does not prove: Which is the true one.
-- meaning: The message is shown twice.
-- next: Compare the events.
WITH made AS (
    SELECT session_id, stored_id, meant, count(*) AS n, min(seq) AS first, max(seq) AS last, min(turn_id) AS turn_id FROM audit.import_found
    WHERE converted AND stored_id IS NOT NULL AND meant <> 'turn_state' GROUP BY session_id, stored_id, meant
), held AS (SELECT session_id, message_id, meant, count(*) AS n FROM audit.import_due GROUP BY session_id, message_id, meant)
SELECT 'runtime_events' AS subject, m.session_id AS place, m.first AS first_seq, m.last AS last_seq, m.n AS records,
    m.n || ' ' || m.meant || ' events of row ' || m.stored_id || ', ' || greatest(1, coalesce(h.n, 0)) || ' due'
        || coalesce('; ' || c.generation || ', ' || c.shape || ': ' || c.cause, '') AS detail
FROM made AS m LEFT JOIN held AS h ON h.session_id = m.session_id AND h.message_id = m.stored_id AND h.meant = m.meant
    LEFT JOIN audit.import_causes AS c ON c.session_id = m.session_id AND c.turn_id = m.turn_id
-- How many parts of thinking a row has, only the row can tell.
WHERE m.n > greatest(1, coalesce(h.n, 0)) AND (h.n IS NOT NULL OR m.meant <> 'thinking')
ORDER BY subject, place, first_seq, last_seq, detail
