-- code: BUS-D01
-- title: There was traffic, and its tables are empty
-- severity: critical
-- applies: busbar sqlite 8-12, busbar postgres 10-11
-- params: kept bigint = 3
-- examines: audit.admin_audit
-- proves: The admin audit tells of calls to agents and no task and no event is stored; or of tool calls and no call
--   is stored.
-- does not prove: A defect for certain: a purge of all finished tasks leaves the same, so what ended more than 3 days
--   before the store did is low. Servers that were only set up are no traffic; that line is info.
-- meaning: The plug-in accepts what the gateway writes and keeps nothing: an old binary, or a relay that leaves these
--   writes out.
-- next: Make one task or call, stop the gateway, and look whether it is in the file; update the plug-in if it is not.
WITH told AS (
    SELECT action, count(*) AS records, min(seq) AS first_seq, max(seq) AS last_seq, max(ts) AS last_ts
    FROM audit.admin_audit WHERE decodable AND outcome = 'applied'
        AND (action = 'agent.call' OR starts_with(action, 'mcp.') OR action = 'tool.call') GROUP BY action
), ends AS (SELECT max(last_ts) AS ts FROM audit.write_times), kept AS (
    SELECT (SELECT count(*) FROM audit.tasks) + (SELECT count(*) FROM audit.task_events) AS tasks, (SELECT count(*) FROM audit.calls) AS calls
)
SELECT 'admin audit' AS subject, left(action, 60) AS place, first_seq, last_seq, records,
    records || ' applied ' || left(action, 60) || ', the last at ' || last_ts || '; ' || CASE WHEN action = 'agent.call' THEN 'no task and no event' ELSE 'no call' END || ' is stored' AS detail,
    CASE WHEN action NOT IN ('agent.call', 'tool.call', 'mcp.call') THEN 'info' WHEN last_ts >= ends.ts - $kept * 86400 THEN 'critical'
        ELSE 'low' END AS severity
FROM told, kept, ends WHERE CASE WHEN action = 'agent.call' THEN kept.tasks = 0 ELSE kept.calls = 0 END
ORDER BY subject, place, first_seq, last_seq, detail
