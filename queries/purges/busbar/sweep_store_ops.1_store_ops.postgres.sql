-- verb: sweep_store_ops
-- table: store_ops
-- about: what the verb runs on store_ops, in the words of the store.
-- applies: busbar postgres 11
-- params: now hugeint
DELETE FROM store_ops WHERE recorded_at < $now - 86400
