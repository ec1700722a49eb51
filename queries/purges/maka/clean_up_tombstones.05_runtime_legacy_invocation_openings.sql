-- verb: clean_up_tombstones
-- table: runtime_legacy_invocation_openings
-- about: what the clean-up of deleted sessions has to remove from runtime_legacy_invocation_openings.
-- applies: maka sqlite 16-18
-- params: none
DELETE FROM runtime_legacy_invocation_openings WHERE session_id IN (SELECT session_id FROM session_metadata_tombstones WHERE cleanup_pending <> 0)
