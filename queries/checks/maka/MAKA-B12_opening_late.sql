-- code: MAKA-B12
-- title: An opening is not the first event of its invocation
-- severity: low
-- applies: maka sqlite 16-18
-- params: none
-- examines: audit.ledger_events
-- proves: Its number is not 1.
-- does not prove: That rows are lost: it depends on the page size.
-- meaning: Pages of some builds leave out what stands before it (V16).
-- next: Read the session in small pages with the build in use.
SELECT 'runtime_events' AS subject, event_id AS place, seq AS first_seq, seq AS last_seq, 1 AS records,
    'session ' || session_id || ', invocation ' || invocation_id || ': opened at number ' || seq AS detail
FROM audit.ledger_events WHERE kind = 'invocation_opened' AND seq <> 1
ORDER BY subject, place, first_seq, last_seq, detail
