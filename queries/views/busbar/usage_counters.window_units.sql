-- view: usage_counters
-- kind: part
-- about: one row a counter of a usage row that is not 0.
-- applies: busbar sqlite 10-12
SELECT 'usage_window_units' AS subject, bucket_id AS place, 'count' AS counter, count AS amount FROM raw.usage_window_units WHERE count <> 0
