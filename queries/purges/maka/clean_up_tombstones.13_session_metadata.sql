-- verb: clean_up_tombstones
-- table: session_metadata
-- about: what the clean-up of deleted sessions has to remove from session_metadata.
-- applies: maka sqlite 11-18
-- params: none
DELETE FROM session_metadata WHERE session_id IN (SELECT session_id FROM session_metadata_tombstones WHERE cleanup_pending <> 0)
