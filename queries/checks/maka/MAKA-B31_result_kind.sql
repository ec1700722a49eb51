-- code: MAKA-B31
-- title: A tool result of no known kind
-- severity: high
-- applies: maka sqlite 4-18
-- params: none
-- examines: audit.ledger_events
-- proves: Its result is no object of a kind that readers know.
-- does not prove: That a newer version does not know it.
-- meaning: The session becomes unreadable.
-- next: See whether a newer build wrote it.
SELECT 'runtime_events' AS subject, event_id AS place, seq AS first_seq, seq AS last_seq, 1 AS records,
    'session ' || session_id || ', tool use ' || coalesce(tool_use_id, '') AS detail
FROM audit.ledger_events WHERE known_result = false
ORDER BY subject, place, first_seq, last_seq, detail
