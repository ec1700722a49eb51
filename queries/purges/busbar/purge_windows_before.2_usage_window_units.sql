-- verb: purge_windows_before
-- table: usage_window_units
-- about: what the verb runs on usage_window_units, in the words of the store.
-- applies: busbar sqlite 10-12
-- params: cutoff hugeint
DELETE FROM usage_window_units WHERE window_start < $cutoff
