-- figure: retention_gone
-- about: what is gone from each population, told by its chains: heads and inner records, and whether a declared purge explains the heads.
-- params: calls hugeint, tasks hugeint
WITH faults AS (
    SELECT population, scope, about, sum(records) AS records FROM audit.chain_extents
    WHERE about IN ('head-missing', 'gap-inner') GROUP BY population, scope, about
), held AS (
    SELECT population, scope, min(ts) FILTER (ts > 0) AS oldest FROM audit.chain_records GROUP BY population, scope
), known AS (
    SELECT population, min(oldest) AS oldest, CASE WHEN population IN ('mcp_calls', 'call') THEN $calls
            WHEN population IN ('task_events', 'task_event') THEN $tasks END AS cutoff,
        population IN ('audit_log', 'audit') AS never
    FROM held GROUP BY population
)
SELECT f.population, f.about, count(*) AS chains, sum(f.records) AS records, any_value(k.oldest) AS oldest, any_value(k.cutoff) AS cutoff,
    -- A purge by age that ran some time ago left what was younger then: records older than the cutoff of now prove nothing.
    CASE WHEN f.about = 'gap-inner' OR any_value(k.never) THEN 'unexplained'
        WHEN any_value(k.cutoff) IS NULL THEN 'plausible by time' ELSE 'declared' END AS why
FROM faults AS f JOIN known AS k ON k.population = f.population
GROUP BY f.population, f.about ORDER BY f.population, f.about DESC
