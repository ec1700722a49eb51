-- verb: clean_up_tombstones
-- table: session_message_payloads
-- about: rows of session_message_payloads that go, each by its key.
-- applies: maka sqlite 12-18
-- params: none
SELECT 'session_message_payloads' AS table_name, [session_id, CAST(sequence AS VARCHAR)] AS key, 'session_message_payloads' AS population, session_id AS scope,
    CAST(NULL AS HUGEINT) AS seq, CAST(NULL AS HUGEINT) AS ts, 'predicate' AS why
FROM raw.session_message_payloads WHERE session_id IN (SELECT session_id FROM raw.session_metadata_tombstones WHERE cleanup_pending <> 0)
