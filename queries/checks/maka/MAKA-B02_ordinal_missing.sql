-- code: MAKA-B02
-- title: An event has no place in its session
-- severity: high
-- applies: maka sqlite 11-18
-- params: none
-- examines: audit.ledger_events
-- proves: No ordinal refers to the event.
-- does not prove: That it was never shown.
-- meaning: Pages leave the event out, the Session view shows it (V13).
-- next: Compare with a backup; a conversion's resequencing does not mend it.
SELECT 'runtime_events' AS subject, event_id AS place, seq AS first_seq, seq AS last_seq, 1 AS records,
    'session ' || session_id || ', invocation ' || invocation_id AS detail
FROM audit.ledger_events WHERE ordinal IS NULL
ORDER BY subject, place, first_seq, last_seq, detail
