-- verb: clean_up_tombstones
-- table: session_catalog_projection
-- about: rows of session_catalog_projection that go, each by its key.
-- applies: maka sqlite 11-18
-- params: none
SELECT 'session_catalog_projection' AS table_name, [session_id] AS key, 'session_catalog_projection' AS population, session_id AS scope,
    CAST(NULL AS HUGEINT) AS seq, CAST(activity_at AS HUGEINT) AS ts, 'predicate' AS why
FROM raw.session_catalog_projection WHERE session_id IN (SELECT session_id FROM raw.session_metadata_tombstones WHERE cleanup_pending <> 0)
