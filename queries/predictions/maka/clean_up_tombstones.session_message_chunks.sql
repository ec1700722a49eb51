-- verb: clean_up_tombstones
-- table: session_message_chunks
-- about: rows of session_message_chunks that go, each by its key.
-- applies: maka sqlite 12-18
-- params: none
SELECT 'session_message_chunks' AS table_name, [session_id, CAST(sequence AS VARCHAR), CAST(chunk_index AS VARCHAR)] AS key, 'session_message_chunks' AS population, session_id AS scope,
    CAST(NULL AS HUGEINT) AS seq, CAST(NULL AS HUGEINT) AS ts, 'predicate' AS why
FROM raw.session_message_chunks WHERE session_id IN (SELECT session_id FROM raw.session_metadata_tombstones WHERE cleanup_pending <> 0)
