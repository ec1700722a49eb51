-- code: MAKA-R01
-- title: A turn holds more messages of the user than it was given
-- severity: high
-- applies: maka sqlite 11-18
-- params: none
-- examines: audit.inline_invocations
-- proves: More than one user text that is no steering, and more than the turn's rows hold.
-- does not prove: Which is the true one.
-- meaning: One executed prompt is shown twice; the host does not start.
-- next: Compare the texts; the second was written by a recovery or a resumed conversion.
WITH said AS (
    SELECT e.session_id, e.turn_id, count(*) AS n, min(e.seq) AS first, max(e.seq) AS last,
        bool_or(starts_with(e.run_id, 'transcript-')) AS converted
    FROM audit.ledger_events AS e SEMI JOIN audit.inline_invocations AS i ON i.invocation_id = e.invocation_id
    WHERE e.content_kind = 'text' AND e.role = 'user' AND NOT e.steering GROUP BY e.session_id, e.turn_id
)
SELECT 'runtime_events' AS subject, s.session_id AS place, s.first AS first_seq, s.last AS last_seq, s.n AS records,
    'turn ' || s.turn_id || ': ' || s.n || ' messages, its rows hold ' || coalesce(r.n, 0) AS detail
FROM said AS s LEFT JOIN audit.user_rows AS r ON r.session_id = s.session_id AND r.turn_id = s.turn_id
WHERE s.n > greatest(1, CASE WHEN s.converted THEN coalesce(r.every, 0) ELSE coalesce(r.n, 0) END)
ORDER BY subject, place, first_seq, last_seq, detail
