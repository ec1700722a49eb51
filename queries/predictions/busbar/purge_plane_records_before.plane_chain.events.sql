-- verb: purge_plane_records_before
-- table: plane_chain
-- about: rows of plane_chain that go, each by its key.
-- applies: busbar postgres 10-11
-- params: kind varchar, cutoff hugeint
SELECT 'plane_chain' AS table_name, [kind, parent, CAST(seq AS VARCHAR)] AS key, kind AS population, parent AS scope,
    CAST(seq AS HUGEINT) AS seq, CAST(ts AS HUGEINT) AS ts, 'cascade' AS why
FROM raw.plane_chain WHERE kind = 'task_event' AND $kind = 'task'
    AND parent IN (SELECT id FROM raw.plane_records WHERE kind = $kind AND ts < $cutoff AND ($kind <> 'task' OR disposition = 'terminal'))
