-- figure: gone_until
-- about: of chains of an earlier store whose head is gone since, the newest record that went.
SELECT c.population, c.scope, CAST(max(c.ts) AS BIGINT) AS newest
FROM audit.chain_records AS c JOIN source.gone AS g ON g.population = c.population AND g.scope = c.scope AND c.seq < g.now_first
GROUP BY c.population, c.scope ORDER BY c.population, c.scope
