-- figure: break_places
-- about: records at which a fault shows, the gravest chains first: of each chain the first one, and the next one well apart from it.
-- params: limit bigint = 8, apart bigint = 7
WITH ranked AS (
    SELECT population, scope,
        row_number() OVER (ORDER BY verdict = 'broken' DESC, verdict = 'unverifiable' DESC, records DESC, population, scope) AS place
    FROM audit.chain_verdicts WHERE len(about) > 0
), places AS (
    SELECT r.place, f.population, f.scope, f.seq, list(DISTINCT f.about ORDER BY f.about) AS about
    FROM audit.chain_faults AS f JOIN ranked AS r ON r.population = f.population AND r.scope = f.scope
    GROUP BY r.place, f.population, f.scope, f.seq
), firsts AS (
    SELECT *, count(*) OVER () AS total, min(seq) OVER (PARTITION BY place) AS first_one FROM places
), shown AS (
    SELECT *, min(seq) FILTER (seq > first_one + $apart) OVER (PARTITION BY place) AS next_one FROM firsts
)
SELECT place, population, scope, seq, about, total FROM shown
WHERE seq = first_one OR seq = next_one
ORDER BY place, seq
LIMIT $limit
