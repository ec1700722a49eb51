-- verb: purge_plane_records_before
-- table: plane_records
-- about: rows of plane_records that go, each by its key.
-- applies: busbar sqlite 10-12
-- params: kind varchar, cutoff hugeint
SELECT 'plane_records' AS table_name, [kind, identity, CAST(seq AS VARCHAR)] AS key, kind AS population, identity AS scope,
    CASE WHEN parent IS NOT NULL THEN CAST(seq AS HUGEINT) END AS seq, CAST(ts AS HUGEINT) AS ts, 'predicate' AS why
FROM raw.plane_records WHERE kind = $kind AND ts < $cutoff AND ($kind <> 'task' OR disposition = 'terminal')
