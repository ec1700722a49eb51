-- code: MAKA-B17
-- title: An invocation ended without an outcome
-- severity: low
-- applies: maka sqlite 4-18
-- params: none
-- examines: audit.terminals
-- proves: Its terminal has no status and is no handoff.
-- does not prove: How it went.
-- meaning: Both readers refuse the session.
-- next: Compare with a backup.
SELECT 'runtime_events' AS subject, event_id AS place, seq AS first_seq, seq AS last_seq, 1 AS records,
    'session ' || session_id || ', invocation ' || invocation_id AS detail
FROM audit.terminals WHERE status IS NULL AND NOT handoff
ORDER BY subject, place, first_seq, last_seq, detail
