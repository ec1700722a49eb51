-- verb: clean_up_tombstones
-- table: core_root_source_message_proofs
-- about: what the clean-up of deleted sessions has to remove from core_root_source_message_proofs.
-- applies: maka sqlite 11-18
-- params: none
DELETE FROM core_root_source_message_proofs WHERE session_id IN (SELECT session_id FROM session_metadata_tombstones WHERE cleanup_pending <> 0)
