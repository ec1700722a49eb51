-- code: MAKA-A08
-- title: The kind label of an event is not that of its payload
-- severity: low
-- applies: maka sqlite 4-18
-- params: none
-- examines: audit.ledger_events
-- proves: The column event_kind is not what the payload is due.
-- does not prove: A change of the payload.
-- meaning: Queries by kind (opening, prompt, landmark) miss or misread the event.
-- next: Compare with a backup; the payload is what readers decode.
SELECT 'runtime_events' AS subject, event_id AS place, seq AS first_seq, seq AS last_seq, 1 AS records,
    'session ' || session_id || ': labelled ' || left(kind, 40) || ', due is ' || label AS detail
FROM audit.ledger_events WHERE valid AND kind <> label
ORDER BY subject, place, first_seq, last_seq, detail
