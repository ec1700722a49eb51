-- code: MAKA-B23
-- title: A tool operation names events that are not its own
-- severity: high
-- applies: maka sqlite 4-18
-- params: none
-- examines: raw.tool_operations
-- proves: Its call or result is not there, or is of another invocation.
-- does not prove: Which is right.
-- meaning: Tool state and ledger disagree.
-- next: Compare with a backup.
SELECT 'tool_operations' AS subject, o.operation_id AS place, CAST(NULL AS BIGINT) AS first_seq, CAST(NULL AS BIGINT) AS last_seq, 1 AS records,
    'invocation ' || o.invocation_id || ': ' || CASE WHEN c.event_id IS NULL THEN 'its call is not there' WHEN c.invocation_id <> o.invocation_id
        THEN 'its call is of another invocation' WHEN r.event_id IS NULL THEN 'its result is not there' ELSE 'its result is of another invocation' END AS detail
FROM raw.tool_operations AS o LEFT JOIN audit.ledger_events AS c ON c.event_id = o.call_event_id
    LEFT JOIN audit.ledger_events AS r ON r.event_id = o.result_event_id
WHERE c.event_id IS NULL OR c.invocation_id <> o.invocation_id
    OR (o.result_event_id IS NOT NULL AND (r.event_id IS NULL OR r.invocation_id <> o.invocation_id))
ORDER BY subject, place, first_seq, last_seq, detail
