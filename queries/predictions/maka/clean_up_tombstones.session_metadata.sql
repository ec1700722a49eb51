-- verb: clean_up_tombstones
-- table: session_metadata
-- about: rows of session_metadata that go, each by its key.
-- applies: maka sqlite 11-18
-- params: none
SELECT 'session_metadata' AS table_name, [session_id] AS key, 'session_metadata' AS population, session_id AS scope,
    CAST(NULL AS HUGEINT) AS seq, CAST(committed_at AS HUGEINT) AS ts, 'predicate' AS why
FROM raw.session_metadata WHERE session_id IN (SELECT session_id FROM raw.session_metadata_tombstones WHERE cleanup_pending <> 0)
