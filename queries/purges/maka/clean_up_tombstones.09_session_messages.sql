-- verb: clean_up_tombstones
-- table: session_messages
-- about: what the clean-up of deleted sessions has to remove from session_messages.
-- applies: maka sqlite 11-18
-- params: none
DELETE FROM session_messages WHERE session_id IN (SELECT session_id FROM session_metadata_tombstones WHERE cleanup_pending <> 0)
