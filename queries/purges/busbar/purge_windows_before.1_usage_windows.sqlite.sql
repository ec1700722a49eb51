-- verb: purge_windows_before
-- table: usage_windows
-- about: what the verb runs on usage_windows, in the words of the store.
-- applies: busbar sqlite 5-12
-- params: cutoff hugeint
DELETE FROM usage_windows WHERE window_start < $cutoff
