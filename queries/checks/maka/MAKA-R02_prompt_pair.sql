-- code: MAKA-R02
-- title: A recovery wrote a prompt that was there already
-- severity: high
-- applies: maka sqlite 11-18
-- params: none
-- examines: audit.ledger_events
-- proves: An event with the derived id stands beside another message of the user.
-- does not prove: Which was executed.
-- meaning: One prompt is shown twice.
-- next: Compare the two.
SELECT 'runtime_events' AS subject, b.event_id AS place, b.seq AS first_seq, b.seq AS last_seq, 1 AS records,
    'session ' || b.session_id || ', beside event ' || min(a.seq) AS detail
FROM audit.ledger_events AS b JOIN audit.ledger_events AS a ON a.invocation_id = b.invocation_id AND a.event_id <> b.event_id
WHERE b.event_id = b.run_id || '-admitted-prompt' AND a.content_kind = 'text' AND a.role = 'user' AND NOT a.steering
GROUP BY b.event_id, b.seq, b.session_id
ORDER BY subject, place, first_seq, last_seq, detail
