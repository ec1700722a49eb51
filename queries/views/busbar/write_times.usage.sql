-- view: write_times
-- kind: part
-- about: one row a day on which a part of the store was written (calls, task events, admin audit, usage), with the last time.
-- applies: busbar sqlite 5-12, busbar postgres 6-11
SELECT 'usage' AS part, CAST(window_start // 86400 AS HUGEINT) AS day, count(*) AS records, CAST(max(window_start) AS HUGEINT) AS last_ts
FROM audit.usage_windows WHERE window_start > 0 AND requests > 0 GROUP BY ALL
