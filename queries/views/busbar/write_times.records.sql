-- view: write_times
-- kind: part
-- about: one row a day on which a part of the store was written (calls, task events, admin audit, usage), with the last time.
-- applies: busbar sqlite 5-12, busbar postgres 6-11
SELECT CASE WHEN population IN ('mcp_calls', 'call') THEN 'calls' WHEN population IN ('task_events', 'task_event') THEN 'task events'
    ELSE 'admin audit' END AS part, ts // 86400 AS day, count(*) AS records, max(ts) AS last_ts
FROM audit.chain_records WHERE ts > 0 GROUP BY ALL
