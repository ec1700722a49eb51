-- code: MAKA-D08
-- title: A conversion that another build gave up
-- severity: high
-- applies: maka sqlite 11-18
-- params: none
-- examines: audit.ledger_events
-- proves: The event that seals such a run is there.
-- does not prove: What is missing.
-- meaning: A released prefix was sealed; the rest of the turn is only in session_messages.
-- next: Restore the turn from session_messages.
SELECT 'runtime_events' AS subject, event_id AS place, seq AS first_seq, seq AS last_seq, 1 AS records,
    'session ' || session_id || ', turn ' || turn_id AS detail
FROM audit.ledger_events WHERE starts_with(event_id, 'transcript-') AND ends_with(event_id, '-abandoned')
ORDER BY subject, place, first_seq, last_seq, detail
