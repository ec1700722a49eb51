-- verb: purge_windows_before
-- table: usage_ledger_units
-- about: what the verb runs on usage_ledger_units, in the words of the store.
-- applies: busbar postgres 10-11
-- params: cutoff hugeint
DELETE FROM usage_ledger_units WHERE window_start < $cutoff
