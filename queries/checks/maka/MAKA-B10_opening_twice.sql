-- code: MAKA-B10
-- title: An invocation began twice
-- severity: high
-- applies: maka sqlite 16-18
-- params: none
-- examines: audit.ledger_events
-- proves: It has more than one opening event.
-- does not prove: Which is right.
-- meaning: Only possible where the unique index is gone (MAKA-A04).
-- next: Compare with a backup.
SELECT 'runtime_events' AS subject, invocation_id AS place, min(seq) AS first_seq, max(seq) AS last_seq, count(*) AS records,
    'session ' || min(session_id) || ': ' || count(*) || ' openings' AS detail
FROM audit.ledger_events WHERE kind = 'invocation_opened' GROUP BY invocation_id HAVING count(*) > 1
ORDER BY subject, place, first_seq, last_seq, detail
