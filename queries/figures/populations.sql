-- figure: populations
-- about: chains and records of each population, by verdict.
SELECT v.population, count(*) AS chains, sum(v.records) AS records, min(v.first_ts) AS first_ts, max(v.last_ts) AS last_ts,
    count(*) FILTER (v.verdict IN ('intact-anchored', 'intact-unanchored')) AS intact,
    count(*) FILTER (v.verdict = 'broken') AS broken,
    count(*) FILTER (v.verdict = 'unverifiable') AS unverifiable,
    count(*) FILTER (v.verdict NOT IN ('broken', 'unverifiable') AND len(v.about) > 0) AS remarked,
    bool_or(p.unreproducible) AS unreproducible
FROM audit.chain_verdicts AS v JOIN audit.chain_populations AS p ON p.population = v.population
GROUP BY v.population
ORDER BY v.population
