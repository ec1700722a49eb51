-- view: usage_counters
-- kind: part
-- about: one row a counter of a usage row that is not 0.
-- applies: busbar sqlite 10-12, busbar postgres 10-11
SELECT 'usage_metering_units' AS subject, key_id AS place, 'count' AS counter, count AS amount FROM raw.usage_metering_units WHERE count <> 0
