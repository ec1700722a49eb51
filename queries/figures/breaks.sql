-- figure: breaks
-- about: the chains with the gravest verdicts and the places of their faults; records in a row with the same fault are one place.
-- params: limit bigint = 20, marks bigint = 60
WITH ranked AS (
    SELECT population, scope, first_seq, last_seq, verdict, count(*) OVER () AS total,
        row_number() OVER (ORDER BY verdict = 'broken' DESC, verdict = 'unverifiable' DESC, records DESC, population, scope) AS place
    FROM audit.chain_verdicts WHERE len(about) > 0
), faults AS (
    SELECT DISTINCT r.place, f.about, CAST(f.first_seq AS HUGEINT) AS from_seq, CAST(f.last_seq AS HUGEINT) AS to_seq
    FROM audit.chain_faults AS f JOIN ranked AS r ON r.population = f.population AND r.scope = f.scope
    WHERE r.place <= $limit
), starts AS (
    SELECT *, coalesce(from_seq > lag(to_seq) OVER kind + 1, true) AS starts FROM faults WINDOW kind AS (PARTITION BY place, about ORDER BY from_seq, to_seq)
), numbered AS (
    SELECT *, count(*) FILTER (starts) OVER (PARTITION BY place, about ORDER BY from_seq, to_seq) AS nth FROM starts
), runs AS (
    SELECT place, about, nth, min(from_seq) AS from_seq, max(to_seq) AS to_seq, count(*) OVER (PARTITION BY place) AS runs
    FROM numbered GROUP BY place, about, nth
)
SELECT c.place, c.population, c.scope, c.first_seq, c.last_seq, c.total, r.about, r.from_seq, r.to_seq, r.runs
FROM ranked AS c JOIN runs AS r ON r.place = c.place
WHERE r.nth <= $marks
ORDER BY c.place, r.about, r.from_seq, r.to_seq
