-- verb: clean_up_tombstones
-- table: runtime_partial_snapshots
-- about: rows of runtime_partial_snapshots that go, each by its key.
-- applies: maka sqlite 11-18
-- params: none
SELECT 'runtime_partial_snapshots' AS table_name, [stream_key] AS key, 'runtime_partial_snapshots' AS population, session_id AS scope,
    CAST(NULL AS HUGEINT) AS seq, CAST(updated_at AS HUGEINT) AS ts, 'predicate' AS why
FROM raw.runtime_partial_snapshots WHERE session_id IN (SELECT session_id FROM raw.session_metadata_tombstones WHERE cleanup_pending <> 0)
