-- verb: purge_plane_records_before
-- table: plane_records
-- about: rows of plane_records that go, each by its key.
-- applies: busbar sqlite 10-12
-- params: kind varchar, cutoff hugeint
SELECT 'plane_records' AS table_name, [kind, identity, CAST(seq AS VARCHAR)] AS key, kind AS population, parent AS scope,
    CAST(seq AS HUGEINT) AS seq, CAST(ts AS HUGEINT) AS ts, 'cascade' AS why
FROM raw.plane_records WHERE kind = 'task_event' AND $kind = 'task'
    AND parent IN (SELECT identity FROM raw.plane_records WHERE kind = $kind AND ts < $cutoff AND ($kind <> 'task' OR disposition = 'terminal'))
