-- code: MAKA-D11
-- title: A row that was converted twice
-- severity: high
-- applies: maka sqlite 11-18
-- params: none
-- examines: audit.ledger_events
-- proves: Two events of one kind in converted runs come from one row, and the row's id stands once.
-- does not prove: Which is the true one.
-- meaning: The message is shown twice.
-- next: Compare the two events.
WITH made AS (
    SELECT session_id, stored_id, content_kind, count(*) AS n, min(seq) AS first, max(seq) AS last FROM audit.ledger_events
    WHERE starts_with(run_id, 'transcript-') AND content_kind IN ('text', 'function_call', 'function_response') AND stored_id IS NOT NULL
    GROUP BY session_id, stored_id, content_kind
), held AS (SELECT session_id, message_id, count(*) AS n FROM audit.legacy_rows GROUP BY session_id, message_id)
SELECT 'runtime_events' AS subject, m.session_id AS place, m.first AS first_seq, m.last AS last_seq, m.n AS records,
    m.n || ' ' || m.content_kind || ' events of row ' || m.stored_id AS detail
FROM made AS m LEFT JOIN held AS h ON h.session_id = m.session_id AND h.message_id = m.stored_id WHERE m.n > greatest(1, coalesce(h.n, 0))
ORDER BY subject, place, first_seq, last_seq, detail
