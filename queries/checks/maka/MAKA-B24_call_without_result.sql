-- code: MAKA-B24
-- title: A tool call without a result in a completed turn
-- severity: info
-- applies: maka sqlite 4-18
-- params: none
-- examines: audit.ledger_events
-- proves: No result of the call is in its invocation.
-- does not prove: That the tool did not run.
-- meaning: A tool card that never comes to rest.
-- next: Nothing; expected where a provider ran the tool itself.
SELECT 'runtime_events' AS subject, c.event_id AS place, c.seq AS first_seq, c.seq AS last_seq, 1 AS records,
    'session ' || c.session_id || ', tool use ' || coalesce(c.tool_use_id, '') AS detail
FROM audit.ledger_events AS c SEMI JOIN (SELECT * FROM audit.terminals WHERE status = 'completed') AS t ON t.invocation_id = c.invocation_id
    ANTI JOIN (SELECT * FROM audit.ledger_events WHERE content_kind = 'function_response') AS r
    ON r.invocation_id = c.invocation_id AND r.tool_use_id = c.tool_use_id
WHERE c.content_kind = 'function_call'
ORDER BY subject, place, first_seq, last_seq, detail
