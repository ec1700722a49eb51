-- verb: clean_up_tombstones
-- table: core_root_source_message_proofs
-- about: rows of core_root_source_message_proofs that go, each by its key.
-- applies: maka sqlite 11-18
-- params: none
SELECT 'core_root_source_message_proofs' AS table_name, [session_id, message_id] AS key, 'core_root_source_message_proofs' AS population, session_id AS scope,
    CAST(NULL AS HUGEINT) AS seq, CAST(NULL AS HUGEINT) AS ts, 'predicate' AS why
FROM raw.core_root_source_message_proofs WHERE session_id IN (SELECT session_id FROM raw.session_metadata_tombstones WHERE cleanup_pending <> 0)
