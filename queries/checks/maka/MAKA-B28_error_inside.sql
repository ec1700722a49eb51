-- code: MAKA-B28
-- title: An error inside a run that goes on
-- severity: high
-- applies: maka sqlite 4-18
-- params: none
-- examines: audit.ledger_events
-- proves: Error content stands in an event that is no terminal.
-- does not prove: What failed.
-- meaning: The session becomes unreadable.
-- next: See whether a newer build reads it.
SELECT 'runtime_events' AS subject, event_id AS place, seq AS first_seq, seq AS last_seq, 1 AS records,
    'session ' || session_id || ', invocation ' || invocation_id AS detail
FROM audit.ledger_events
WHERE content_kind = 'error' AND NOT ends AND coalesce(status, '') NOT IN ('completed', 'failed', 'aborted', 'cancelled')
ORDER BY subject, place, first_seq, last_seq, detail
