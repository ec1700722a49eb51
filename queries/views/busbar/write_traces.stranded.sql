-- view: write_traces
-- kind: part
-- about: one row a trace of the write path: the population it speaks about, what was seen (trace), how often, and when first and last.
-- applies: busbar postgres 10-11
-- An upgrade on this engine leaves the typed tables where they are: the records of that time are there, and are in no population.
SELECT p.population, 'left behind by the upgrade' AS trace, CAST(sum(s.rows) AS BIGINT) AS records, CAST(NULL AS HUGEINT) AS first_at,
    CAST(NULL AS HUGEINT) AS last_at
FROM source.tables AS s
JOIN (VALUES ('mcp_calls', 'calls'), ('tasks', 'tasks'), ('task_events', 'task events')) AS p(table_name, population) ON p.table_name = s.name
WHERE s.state = 'legacy' AND s.rows > 0 GROUP BY p.population
