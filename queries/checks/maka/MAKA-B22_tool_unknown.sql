-- code: MAKA-B22
-- title: A tool was started, and the run ended without its outcome
-- severity: high
-- applies: maka sqlite 4-18
-- params: none
-- examines: raw.tool_operations
-- proves: It is prepared and dispatched, has no result, and its run is sealed.
-- does not prove: Whether the tool ran.
-- meaning: Its outcome is unknown and can no longer be recorded; low where the user stopped the run.
-- next: Look at what the tool does before it is run again.
SELECT 'tool_operations' AS subject, o.operation_id AS place, CAST(NULL AS BIGINT) AS first_seq, CAST(NULL AS BIGINT) AS last_seq, 1 AS records,
    'invocation ' || o.invocation_id || ', tool use ' || o.provider_tool_call_id || ', the run ended ' || coalesce(min(t.status), 'without a status') AS detail,
    CASE WHEN bool_and(t.status IN ('aborted', 'cancelled')) THEN 'low' ELSE 'high' END AS severity
FROM raw.tool_operations AS o JOIN audit.terminals AS t ON t.invocation_id = o.invocation_id
WHERE o.current_state = 'prepared' AND o.result_event_id IS NULL AND o.dispatch_event_id IS NOT NULL
GROUP BY o.operation_id, o.invocation_id, o.provider_tool_call_id
ORDER BY subject, place, first_seq, last_seq, detail
