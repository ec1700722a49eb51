-- verb: clean_up_tombstones
-- table: session_messages
-- about: rows of session_messages that go, each by its key.
-- applies: maka sqlite 11-18
-- params: none
SELECT 'session_messages' AS table_name, [session_id, CAST(sequence AS VARCHAR)] AS key, 'session_messages' AS population, session_id AS scope,
    CAST(NULL AS HUGEINT) AS seq, CAST(message_ts AS HUGEINT) AS ts, 'predicate' AS why
FROM raw.session_messages WHERE session_id IN (SELECT session_id FROM raw.session_metadata_tombstones WHERE cleanup_pending <> 0)
