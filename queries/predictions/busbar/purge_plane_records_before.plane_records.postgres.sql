-- verb: purge_plane_records_before
-- table: plane_records
-- about: rows of plane_records that go, each by its key.
-- applies: busbar postgres 10-11
-- params: kind varchar, cutoff hugeint
SELECT 'plane_records' AS table_name, [kind, id] AS key, kind AS population, id AS scope,
    CAST(NULL AS HUGEINT) AS seq, CAST(ts AS HUGEINT) AS ts, 'predicate' AS why
FROM raw.plane_records WHERE kind = $kind AND ts < $cutoff AND ($kind <> 'task' OR disposition = 'terminal')
