-- verb: clean_up_tombstones
-- table: runtime_events
-- about: rows of runtime_events that go, each by its key.
-- applies: maka sqlite 11-18
-- params: none
SELECT 'runtime_events' AS table_name, [event_id] AS key, 'runtime_events' AS population, session_id AS scope,
    CAST(NULL AS HUGEINT) AS seq, CAST(committed_at AS HUGEINT) AS ts, 'predicate' AS why
FROM raw.runtime_events WHERE session_id IN (SELECT session_id FROM raw.session_metadata_tombstones WHERE cleanup_pending <> 0)
