-- verb: clean_up_tombstones
-- table: tool_operations
-- about: what the clean-up of deleted sessions has to remove from tool_operations.
-- applies: maka sqlite 11-18
-- params: none
DELETE FROM tool_operations WHERE invocation_id IN (SELECT invocation_id FROM runtime_events WHERE session_id IN (SELECT session_id FROM session_metadata_tombstones WHERE cleanup_pending <> 0))
