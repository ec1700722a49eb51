-- verb: clean_up_tombstones
-- table: runtime_session_event_ordinals
-- about: what the clean-up of deleted sessions has to remove from runtime_session_event_ordinals.
-- applies: maka sqlite 11-18
-- params: none
DELETE FROM runtime_session_event_ordinals WHERE session_id IN (SELECT session_id FROM session_metadata_tombstones WHERE cleanup_pending <> 0)
