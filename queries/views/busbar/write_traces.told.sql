-- view: write_traces
-- kind: part
-- about: one row a trace of the write path: the population it speaks about, what was seen (trace), how often, and when first and last.
-- applies: busbar sqlite 7-12, busbar postgres 10-11
WITH told AS (
    SELECT action = 'agent.call' AS agent, ts FROM audit.admin_audit
    WHERE decodable AND outcome = 'applied' AND action IN ('agent.call', 'tool.call', 'mcp.call')
)
SELECT 'calls' AS population, 'told by the audit' AS trace, count(*) AS records, min(ts) AS first_at, max(ts) AS last_at
FROM told WHERE NOT agent HAVING count(*) > 0
UNION ALL
SELECT parts.population, 'told by the audit', count(*), min(ts), max(ts)
FROM told, (VALUES ('tasks'), ('task events')) AS parts(population) WHERE agent GROUP BY parts.population
