-- verb: purge_plane_records_before
-- table: plane_records
-- about: what the verb runs on plane_records, in the words of the store.
-- applies: busbar postgres 10-11
-- params: kind varchar, cutoff hugeint
DELETE FROM plane_records WHERE kind = $kind AND ts < $cutoff AND (CAST($kind AS TEXT) <> 'task' OR disposition = 'terminal')
