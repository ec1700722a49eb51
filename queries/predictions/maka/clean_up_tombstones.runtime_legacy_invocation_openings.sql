-- verb: clean_up_tombstones
-- table: runtime_legacy_invocation_openings
-- about: rows of runtime_legacy_invocation_openings that go, each by its key.
-- applies: maka sqlite 16-18
-- params: none
SELECT 'runtime_legacy_invocation_openings' AS table_name, [invocation_id] AS key, 'runtime_legacy_invocation_openings' AS population, session_id AS scope,
    CAST(NULL AS HUGEINT) AS seq, CAST(opened_at AS HUGEINT) AS ts, 'predicate' AS why
FROM raw.runtime_legacy_invocation_openings WHERE session_id IN (SELECT session_id FROM raw.session_metadata_tombstones WHERE cleanup_pending <> 0)
