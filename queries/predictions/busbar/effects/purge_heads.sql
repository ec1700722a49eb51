-- effect: purge_heads
-- about: chains that would lose records and not all of them: what they begin with afterwards, and how many records would be missing from inside.
WITH touched AS (
    SELECT DISTINCT verb, population, scope FROM source.purge_rows WHERE seq IS NOT NULL
), marked AS (
    SELECT t.verb, t.population, t.scope, r.seq, p.seq IS NOT NULL AS goes
    FROM touched AS t
    JOIN audit.chain_records AS r ON r.population = t.population AND r.scope = t.scope
    LEFT JOIN source.purge_rows AS p ON p.verb = t.verb AND p.population = t.population AND p.scope = t.scope AND p.seq = r.seq
), counted AS (
    SELECT verb, population, scope, count(*) FILTER (goes) AS rows, count(*) FILTER (NOT goes) AS stay, min(seq) FILTER (NOT goes) AS begins_at,
        max(seq) FILTER (NOT goes) AS ends_at
    FROM marked GROUP BY verb, population, scope
)
SELECT c.verb, c.population AS subject, c.scope AS place, c.rows, c.stay, c.begins_at, c.ends_at,
    (SELECT count(*) FROM marked AS m WHERE m.verb = c.verb AND m.population = c.population AND m.scope = c.scope AND m.goes
        AND m.seq > c.begins_at AND m.seq < c.ends_at) AS from_inside,
    (SELECT count(*) FROM marked AS m WHERE m.verb = c.verb AND m.population = c.population AND m.scope = c.scope AND m.goes
        AND m.seq > c.ends_at) AS from_the_end
FROM counted AS c WHERE c.stay > 0
ORDER BY c.verb, subject, place
