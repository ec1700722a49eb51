-- code: MAKA-T03
-- title: A record larger than a page
-- severity: info
-- applies: maka sqlite 4-18
-- params: none
-- examines: audit.ledger_events
-- proves: A payload is more than 512 KiB.
-- does not prove: A fault.
-- meaning: One row needs several pages, each with a part of its bytes.
-- next: Nothing.
SELECT 'runtime_events' AS subject, event_id AS place, seq AS first_seq, seq AS last_seq, 1 AS records,
    'session ' || session_id || ': ' || bytes || ' bytes' AS detail
FROM audit.ledger_events WHERE bytes > 524288
ORDER BY subject, place, first_seq, last_seq, detail
