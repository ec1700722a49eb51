-- verb: purge_windows_before
-- table: usage_ledger
-- about: what the verb runs on usage_ledger, in the words of the store.
-- applies: busbar postgres 6-11
-- params: cutoff hugeint
DELETE FROM usage_ledger WHERE window_start < $cutoff
