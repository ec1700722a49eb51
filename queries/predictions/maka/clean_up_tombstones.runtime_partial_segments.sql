-- verb: clean_up_tombstones
-- table: runtime_partial_segments
-- about: rows of runtime_partial_segments that go, each by its key.
-- applies: maka sqlite 11-18
-- params: none
SELECT 'runtime_partial_segments' AS table_name, [stream_key, CAST(segment_seq AS VARCHAR)] AS key, 'runtime_partial_segments' AS population, '' AS scope,
    CAST(NULL AS HUGEINT) AS seq, CAST(updated_at AS HUGEINT) AS ts, 'predicate' AS why
FROM raw.runtime_partial_segments WHERE stream_key IN (SELECT stream_key FROM raw.runtime_partial_snapshots WHERE session_id IN (SELECT session_id FROM raw.session_metadata_tombstones WHERE cleanup_pending <> 0))
