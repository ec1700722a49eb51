-- view: chain_verdicts
-- kind: view
-- about: one row a chain with its verdict (intact-anchored: a witness proves it, intact-unanchored, broken, unverifiable) and what it is about.
-- applies: busbar sqlite 5-12, busbar postgres 6-11
WITH told AS (
    SELECT population, scope, list(about ORDER BY about) AS about, min(first_seq) AS first_bad, max(last_seq) AS last_bad
    FROM audit.chain_extents GROUP BY population, scope
), witnessed AS (
    SELECT now, scope, list(standing) AS standings FROM audit.witnessed GROUP BY now, scope
)
SELECT c.*, list_concat(coalesce(t.about, []), CASE WHEN list_contains(w.standings, 'behind') THEN ['tail-behind-witness'] ELSE [] END) AS about, t.first_bad, t.last_bad,
    CASE WHEN p.unreproducible THEN 'unverifiable'
        WHEN list_has_any(t.about, ['content', 'link', 'gap-inner', 'genesis', 'restart', 'fork']) THEN 'broken'
        WHEN list_has_any(t.about, ['undecodable']) THEN 'unverifiable'
        WHEN list_has_any(w.standings, ['behind', 'rewritten', 'hole']) THEN 'broken'
        WHEN list_contains(w.standings, 'proven') THEN 'intact-anchored'
        ELSE 'intact-unanchored' END AS verdict
FROM audit.chains AS c
JOIN audit.chain_populations AS p ON p.population = c.population
LEFT JOIN told AS t ON t.population = c.population AND t.scope = c.scope
LEFT JOIN witnessed AS w ON w.now = c.population AND w.scope = c.scope
