-- verb: clean_up_tombstones
-- table: tool_operations
-- about: rows of tool_operations that go, each by its key.
-- applies: maka sqlite 11-18
-- params: none
SELECT 'tool_operations' AS table_name, [operation_id] AS key, 'tool_operations' AS population, '' AS scope,
    CAST(NULL AS HUGEINT) AS seq, CAST(NULL AS HUGEINT) AS ts, 'predicate' AS why
FROM raw.tool_operations WHERE invocation_id IN (SELECT invocation_id FROM raw.runtime_events WHERE session_id IN (SELECT session_id FROM raw.session_metadata_tombstones WHERE cleanup_pending <> 0))
