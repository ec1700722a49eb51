-- view: write_traces
-- kind: part
-- about: one row a trace of the write path: the population it speaks about, what was seen (trace), how often, and when first and last.
-- applies: busbar sqlite 8-12, busbar postgres 10-11
WITH chains AS (
    SELECT era, task_id, min(ts) AS first_ts, max(ts) AS last_ts, arg_max(state, (seq, row)) AS state FROM audit.task_events GROUP BY era, task_id
), placed AS (
    SELECT t.task_id IS NOT NULL AS there, coalesce(t.decodable, false) AS decodable, t.class, t.created_at, t.updated_at,
        c.task_id IS NOT NULL AS chained, c.first_ts, c.last_ts,
        -- A purge takes finished tasks only; events of work that was not finished never lose their row by one.
        t.task_id IS NULL AND c.state IN ('submitted', 'working', 'input-required', 'auth-required') AS orphan
    FROM audit.tasks AS t FULL JOIN chains AS c ON c.era = t.era AND c.task_id = t.task_id
), ends AS (
    SELECT coalesce(max(last_ts), 0) AS events, coalesce(max(updated_at) FILTER (decodable), 0) AS tasks,
        (SELECT coalesce(max(last_ts), 0) FROM audit.write_times) AS store
    FROM placed
), marked AS (
    SELECT p.*, greatest(p.updated_at, coalesce(p.last_ts, 0)) AS heard, decodable AND NOT chained AND created_at > e.events AS bare,
        decodable AND class = 'terminal' AS finished, orphan AND first_ts > e.tasks AS rowless,
        decodable AND class = 'work' AND greatest(p.updated_at, coalesce(p.last_ts, 0)) < e.store - 86400 AS stuck
    FROM placed AS p, ends AS e
), counted AS (
    SELECT unnest([
        {'population': 'task events', 'trace': 'tasks without any after its end', 'records': count(*) FILTER (bare),
            'first_at': min(created_at) FILTER (bare), 'last_at': max(created_at) FILTER (bare)},
        {'population': 'tasks', 'trace': 'events of work without a row', 'records': count(*) FILTER (rowless),
            'first_at': min(first_ts) FILTER (rowless), 'last_at': max(last_ts) FILTER (rowless)},
        {'population': 'task events', 'trace': 'stuck work', 'records': count(*) FILTER (stuck),
            'first_at': min(heard) FILTER (stuck), 'last_at': max(heard) FILTER (stuck)},
        -- As long as a finished task is there, no purge has taken what was finished after it.
        {'population': 'tasks', 'trace': 'not purged since', 'records': count(*) FILTER (finished),
            'first_at': min(updated_at) FILTER (finished), 'last_at': max(updated_at) FILTER (finished)},
        {'population': 'task events', 'trace': 'not purged since', 'records': count(*) FILTER (finished),
            'first_at': min(updated_at) FILTER (finished), 'last_at': max(updated_at) FILTER (finished)}
    ], max_depth := 2) FROM marked
)
SELECT population, trace, records, first_at, last_at FROM counted WHERE records > 0
