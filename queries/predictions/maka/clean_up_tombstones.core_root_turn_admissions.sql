-- verb: clean_up_tombstones
-- table: core_root_turn_admissions
-- about: rows of core_root_turn_admissions that go, each by its key.
-- applies: maka sqlite 11-18
-- params: none
SELECT 'core_root_turn_admissions' AS table_name, [session_id, turn_id] AS key, 'core_root_turn_admissions' AS population, session_id AS scope,
    CAST(NULL AS HUGEINT) AS seq, CAST(admitted_at AS HUGEINT) AS ts, 'predicate' AS why
FROM raw.core_root_turn_admissions WHERE session_id IN (SELECT session_id FROM raw.session_metadata_tombstones WHERE cleanup_pending <> 0)
