-- verb: clean_up_tombstones
-- table: session_message_payloads
-- about: what the clean-up of deleted sessions has to remove from session_message_payloads.
-- applies: maka sqlite 12-18
-- params: none
DELETE FROM session_message_payloads WHERE session_id IN (SELECT session_id FROM session_metadata_tombstones WHERE cleanup_pending <> 0)
