-- view: chain_verdicts
-- kind: view
-- about: one row a chain with its verdict (intact-anchored: a witness proves it, intact-unanchored, broken, unverifiable) and what it is about.
--   own: what it is without any witness (intact, broken, unverifiable).
-- applies: busbar sqlite 5-12, busbar postgres 6-11
WITH told AS (
    SELECT population, scope, list(about ORDER BY about) AS about, min(first_seq) AS first_bad, max(last_seq) AS last_bad
    FROM audit.chain_extents GROUP BY population, scope
), witnessed AS (
    SELECT now, scope, list(standing) AS standings FROM audit.witnessed GROUP BY now, scope
), judged AS (
    SELECT c.*, t.about, t.first_bad, t.last_bad,
        CASE WHEN p.unreproducible THEN 'unverifiable'
            WHEN list_has_any(t.about, ['content', 'link', 'gap-inner', 'genesis', 'restart', 'fork']) THEN 'broken'
            WHEN list_has_any(t.about, ['undecodable']) THEN 'unverifiable'
            ELSE 'intact' END AS own
    FROM audit.chains AS c
    JOIN audit.chain_populations AS p ON p.population = c.population
    LEFT JOIN told AS t ON t.population = c.population AND t.scope = c.scope
)
SELECT j.* EXCLUDE (about, first_bad, last_bad, own),
    list_concat(coalesce(j.about, []), CASE WHEN list_contains(w.standings, 'behind') THEN ['tail-behind-witness'] ELSE [] END) AS about,
    j.first_bad, j.last_bad, j.own,
    CASE WHEN j.own <> 'intact' THEN j.own
        WHEN list_has_any(w.standings, ['behind', 'rewritten', 'hole']) THEN 'broken'
        WHEN list_contains(w.standings, 'proven') THEN 'intact-anchored'
        ELSE 'intact-unanchored' END AS verdict
FROM judged AS j
LEFT JOIN witnessed AS w ON w.now = j.population AND w.scope = j.scope
