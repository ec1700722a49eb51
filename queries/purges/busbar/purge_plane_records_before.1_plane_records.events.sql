-- verb: purge_plane_records_before
-- table: plane_records
-- about: what the verb runs on plane_records, in the words of the store.
-- applies: busbar sqlite 10-12
-- params: kind varchar, cutoff hugeint
DELETE FROM plane_records WHERE kind = 'task_event' AND $kind = 'task'
    AND parent IN (SELECT identity FROM plane_records WHERE kind = $kind AND ts < $cutoff AND ($kind <> 'task' OR disposition = 'terminal'))
