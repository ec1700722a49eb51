-- view: chain_populations
-- kind: table
-- about: one row a population: its chains, its records, and whether no digest at all can be reproduced while every link holds.
-- applies: busbar sqlite 5-12, busbar postgres 6-11
WITH faults AS (
    SELECT population, sum(records) FILTER (about = 'content') AS content, sum(records) FILTER (about = 'undecodable') AS undecodable,
        sum(records) FILTER (about = 'link') AS links, sum(records) FILTER (about = 'form') AS forms
    FROM audit.chain_faults GROUP BY population
)
SELECT c.population, count(*) AS chains, sum(c.records) AS records, min(c.first_ts) AS first_ts, max(c.last_ts) AS last_ts,
    -- Fewer than eight records that all differ may well be eight edits; placeholders do not even have the form of a digest.
    coalesce(any_value(f.content) = sum(c.records) - coalesce(any_value(f.undecodable), 0) AND coalesce(any_value(f.links), 0) = 0
        AND (sum(c.records) >= 8 OR any_value(f.forms) = sum(c.records)), false) AS unreproducible
FROM audit.chains AS c LEFT JOIN faults AS f ON f.population = c.population
GROUP BY c.population
