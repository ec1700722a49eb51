-- verb: purge_plane_records_before
-- table: plane_chain
-- about: what the verb runs on plane_chain, in the words of the store.
-- applies: busbar postgres 10-11
-- params: kind varchar, cutoff hugeint
DELETE FROM plane_chain WHERE kind = $kind AND ts < $cutoff AND CAST($kind AS TEXT) <> 'task'
