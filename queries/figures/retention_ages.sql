-- figure: retention_ages
-- about: records of each population by age, and how many are older than the cutoff declared for them.
-- params: as_of hugeint, calls hugeint, tasks hugeint
WITH held AS (
    SELECT population, CASE population WHEN 'mcp_calls' THEN 'calls' WHEN 'call' THEN 'calls'
            WHEN 'task_events' THEN 'tasks' WHEN 'task_event' THEN 'tasks' END AS kept, ts
    FROM audit.chain_records
), aged AS (
    SELECT population, kept, ts, $as_of - ts AS age, CASE kept WHEN 'calls' THEN $calls WHEN 'tasks' THEN $tasks END AS cutoff FROM held
)
SELECT population, any_value(kept) AS kept, any_value(cutoff) AS cutoff, count(*) AS records,
    count(*) FILTER (age < 0) AS future, count(*) FILTER (age >= 0 AND age < 86400) AS day, count(*) FILTER (age >= 86400 AND age < 604800) AS week,
    count(*) FILTER (age >= 604800 AND age < 2592000) AS month, count(*) FILTER (age >= 2592000 AND age < 7776000) AS quarter,
    count(*) FILTER (age >= 7776000 AND age < 31536000) AS year, count(*) FILTER (age >= 31536000 AND ts > 0) AS older,
    count(*) FILTER (ts IS NULL OR ts <= 0) AS undated, count(*) FILTER (ts < cutoff AND ts > 0) AS due,
    min(ts) FILTER (ts > 0) AS oldest, max(ts) AS newest
FROM aged GROUP BY population ORDER BY population
