-- code: MAKA-L13
-- title: A steering message that no run kept
-- severity: high
-- applies: maka sqlite 8-18
-- params: none
-- examines: audit.legacy_rows
-- proves: The event that the row names is not in the ledger of its session.
-- does not prove: Where it went.
-- meaning: The user said it; conversion leaves the row out, and no run has it.
-- next: Keep session_messages; the text is in the row.
SELECT 'session_messages' AS subject, r.session_id AS place, r.sequence AS first_seq, r.sequence AS last_seq, 1 AS records,
    'turn ' || coalesce(r.turn_id, '') || ', event ' || r.steering_event AS detail
FROM audit.legacy_rows AS r ANTI JOIN audit.ledger_events AS e ON e.event_id = r.steering_event AND e.session_id = r.session_id
WHERE r.type = 'user' AND r.steering_event IS NOT NULL
ORDER BY subject, place, first_seq, last_seq, detail
