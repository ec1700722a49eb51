-- code: MAKA-A06
-- title: An event's payload names another event, session, invocation, run or turn than its columns
-- severity: high
-- applies: maka sqlite 4-18
-- params: none
-- examines: audit.ledger_events
-- proves: Columns and payload disagree.
-- does not prove: Which of the two is right.
-- meaning: Reading the run fails; the row was edited or damaged.
-- next: Compare with a backup.
SELECT 'runtime_events' AS subject, event_id AS place, seq AS first_seq, seq AS last_seq, 1 AS records,
    'session ' || session_id || ', differing: ' || other_ids AS detail
FROM audit.ledger_events WHERE other_ids IS NOT NULL
ORDER BY subject, place, first_seq, last_seq, detail
