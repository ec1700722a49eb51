-- effect: purge_younger
-- about: chains of which records would go that are younger than the cutoff by what they say themselves; retention goes by the row beside them.
SELECT p.verb, p.population AS subject, p.scope AS place, count(*) AS rows, min(r.ts) AS first_ts, max(r.ts) AS last_ts, min(p.ts) AS row_ts
FROM source.purge_rows AS p
JOIN audit.chain_records AS r ON r.population = p.population AND r.scope = p.scope AND r.seq = p.seq
-- What goes with a task goes by the time of the task.
WHERE r.ts >= p.cutoff AND p.why = 'predicate'
GROUP BY ALL
ORDER BY p.verb, subject, place
