-- code: MAKA-A05
-- title: The payload of an event is not a JSON object
-- severity: high
-- applies: maka sqlite 4-18
-- params: none
-- examines: audit.ledger_events
-- proves: The text cannot be read as an object.
-- does not prove: What it was.
-- meaning: The whole session cannot be read; older builds also fail at every page and at the index migration.
-- next: Restore the row from a backup.
SELECT 'runtime_events' AS subject, event_id AS place, seq AS first_seq, seq AS last_seq, 1 AS records,
    'session ' || session_id || ', invocation ' || invocation_id || ', ' || bytes || ' bytes' AS detail
FROM audit.ledger_events WHERE NOT valid
ORDER BY subject, place, first_seq, last_seq, detail
