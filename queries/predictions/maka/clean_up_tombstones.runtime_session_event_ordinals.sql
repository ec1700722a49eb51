-- verb: clean_up_tombstones
-- table: runtime_session_event_ordinals
-- about: rows of runtime_session_event_ordinals that go, each by its key.
-- applies: maka sqlite 11-18
-- params: none
SELECT 'runtime_session_event_ordinals' AS table_name, [session_id, CAST(ordinal AS VARCHAR)] AS key, 'runtime_session_event_ordinals' AS population, session_id AS scope,
    CAST(NULL AS HUGEINT) AS seq, CAST(NULL AS HUGEINT) AS ts, 'predicate' AS why
FROM raw.runtime_session_event_ordinals WHERE session_id IN (SELECT session_id FROM raw.session_metadata_tombstones WHERE cleanup_pending <> 0)
