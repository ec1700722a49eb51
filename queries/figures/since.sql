-- figure: since
-- about: every chain of an earlier report beside the same chain now, and chains that came since.
-- params: none
WITH now AS (
    SELECT c.population, c.scope, min(c.seq) AS first_seq, max(c.seq) AS last_seq, count(*) AS records, arg_min(c.ts, c.seq) AS first_ts,
        count(*) FILTER (c.seq BETWEEN e.first_seq AND e.last_seq) AS kept, any_value(c.hash) FILTER (c.seq = e.last_seq) AS hash_there,
        count(*) FILTER (c.seq = e.last_seq) > 0 AS there
    FROM audit.chain_records AS c LEFT JOIN source.since AS e ON e.population = c.population AND e.scope = c.scope
    GROUP BY c.population, c.scope
)
SELECT coalesce(e.population, n.population) AS population, coalesce(e.scope, n.scope) AS scope, e.first_seq, e.last_seq, e.last_hash,
    e.records, CAST(e.first_ts AS BIGINT) AS first_ts, CAST(e.last_ts AS BIGINT) AS last_ts,
    TRY_CAST(o.ts AS BIGINT) AS oldest, n.first_seq AS now_first, n.last_seq AS now_last, n.records AS now_records, TRY_CAST(n.first_ts AS BIGINT) AS now_first_ts,
    coalesce(n.kept, 0) AS kept, n.hash_there, coalesce(n.there, false) AS there
FROM source.since AS e FULL JOIN now AS n ON n.population = e.population AND n.scope = e.scope
LEFT JOIN (SELECT population, min(ts) AS ts FROM audit.chain_records GROUP BY population) AS o ON o.population = e.population
ORDER BY population, scope
