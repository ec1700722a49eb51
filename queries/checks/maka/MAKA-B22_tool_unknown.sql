-- code: MAKA-B22
-- title: A tool was started, and the run ended without its outcome
-- severity: high
-- applies: maka sqlite 4-18
-- params: none
-- examines: raw.tool_operations
-- proves: It is prepared and dispatched, has no result, and its run is sealed.
-- does not prove: Whether the tool ran.
-- meaning: Its outcome is unknown and can no longer be recorded.
-- next: Look at what the tool does before it is run again.
SELECT 'tool_operations' AS subject, o.operation_id AS place, CAST(NULL AS BIGINT) AS first_seq, CAST(NULL AS BIGINT) AS last_seq, 1 AS records,
    'invocation ' || o.invocation_id || ', tool use ' || o.provider_tool_call_id AS detail
FROM raw.tool_operations AS o SEMI JOIN audit.terminals AS t ON t.invocation_id = o.invocation_id
WHERE o.current_state = 'prepared' AND o.result_event_id IS NULL AND o.dispatch_event_id IS NOT NULL
ORDER BY subject, place, first_seq, last_seq, detail
