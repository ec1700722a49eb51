-- view: write_traces
-- kind: part
-- about: one row a trace of the write path: the population it speaks about, what was seen (trace), how often, and when first and last.
-- applies: busbar sqlite 8-12, busbar postgres 10-11
WITH logs AS (
    SELECT count(DISTINCT population) = 2 AS two, min(ts) FILTER (population = 'call') AS new_first,
        max(ts) FILTER (population = 'mcp_calls') AS old_last, count(*) FILTER (made) AS made, min(ts) FILTER (made) AS made_first,
        max(ts) FILTER (made) AS made_last
    FROM (SELECT population, scope, ts, decodable AND reason = 'task_created' AS made FROM audit.calls) GROUP BY scope
), counted AS (
    SELECT unnest([
        {'population': 'tasks', 'trace': 'told by calls', 'records': sum(made), 'first_at': min(made_first), 'last_at': max(made_last)},
        {'population': 'task events', 'trace': 'told by calls', 'records': sum(made), 'first_at': min(made_first), 'last_at': max(made_last)},
        {'population': 'calls', 'trace': 'begins again', 'records': count(*) FILTER (two), 'first_at': min(new_first) FILTER (two),
            'last_at': max(new_first) FILTER (two)},
        -- Expected once, at the upgrade. An old log that goes on after the new one began was written by an old plug-in.
        {'population': 'calls', 'trace': 'two logs side by side', 'records': count(*) FILTER (two AND old_last > new_first + 300),
            'first_at': min(new_first) FILTER (two AND old_last > new_first + 300),
            'last_at': max(old_last) FILTER (two AND old_last > new_first + 300)}
    ], max_depth := 2) FROM logs
)
SELECT population, trace, CAST(records AS BIGINT) AS records, first_at, last_at FROM counted WHERE records > 0
