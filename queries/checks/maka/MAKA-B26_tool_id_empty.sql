-- code: MAKA-B26
-- title: A tool call or result that names no tool use
-- severity: high
-- applies: maka sqlite 4-18
-- params: none
-- examines: audit.ledger_events
-- proves: Its id is empty.
-- does not prove: Which it belongs to.
-- meaning: The session becomes unreadable.
-- next: Restore the event from a backup.
SELECT 'runtime_events' AS subject, event_id AS place, seq AS first_seq, seq AS last_seq, 1 AS records,
    'session ' || session_id || ': ' || content_kind AS detail
FROM audit.ledger_events WHERE content_kind IN ('function_call', 'function_response') AND coalesce(tool_use_id, '') = ''
ORDER BY subject, place, first_seq, last_seq, detail
