-- code: MAKA-A07
-- title: A live chunk is stored as a fact
-- severity: high
-- applies: maka sqlite 4-18
-- params: none
-- examines: audit.ledger_events
-- proves: The member partial of an event is not false.
-- does not prove: How it came there.
-- meaning: Text that was still being written stands in the ledger, or the member is missing.
-- next: Compare with the completed event of the same message.
SELECT 'runtime_events' AS subject, event_id AS place, seq AS first_seq, seq AS last_seq, 1 AS records,
    'session ' || session_id || ', partial is ' || partial AS detail
FROM audit.ledger_events WHERE valid AND partial <> 'false'
ORDER BY subject, place, first_seq, last_seq, detail
