-- view: write_days
-- kind: part
-- about: one row a day on which a population was written, with the last time of it. Rows that change in place (tasks, keys) tell of
--   their last change only; an approval of when it expires, a few minutes after its use.
-- applies: busbar sqlite 5-12, busbar postgres 6-11
SELECT part AS population, day, records, last_ts FROM audit.write_times
UNION ALL
SELECT 'metering', CAST(day // 86400 AS HUGEINT), count(*), CAST(max(day) AS HUGEINT) FROM audit.metering WHERE day > 0 AND requests > 0 GROUP BY ALL
UNION ALL
SELECT 'keys', CAST(ts // 86400 AS HUGEINT), count(*), CAST(max(ts) AS HUGEINT)
FROM (SELECT greatest(created_at, coalesce(updated_at, 0), coalesce(deleted_at, 0)) AS ts FROM audit.keys) WHERE ts > 0 GROUP BY ALL
