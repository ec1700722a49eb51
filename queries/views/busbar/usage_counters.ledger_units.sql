-- view: usage_counters
-- kind: part
-- about: one row a counter of a usage row that is not 0.
-- applies: busbar postgres 10-11
SELECT 'usage_window_units' AS subject, bucket_id AS place, 'count' AS counter, count AS amount FROM raw.usage_ledger_units WHERE count <> 0
