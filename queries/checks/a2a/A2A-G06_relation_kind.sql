-- code: A2A-G06
-- title: A table is partitioned, inherited, under rewrite rules or no plain table
-- severity: high
-- applies: a2a postgres 1-14
-- params: none
-- examines: source.relations
-- proves: pg_class says that the relation is partitioned, part of an inheritance, a view or a foreign table, or that
--   a rule rewrites what is written to it.
-- does not prove: Who changed it, or when.
-- meaning: Triggers and locks do not work as they were designed on such a relation; a rule may turn a delete into nothing.
-- next: Drop the rules. Move the rows to a plain table of the same definition, on a copy first.
SELECT name AS subject, name AS place, CAST(NULL AS BIGINT) AS first_seq, CAST(NULL AS BIGINT) AS last_seq, 1 AS records, 'relkind ' || kind || CASE WHEN partition THEN ', a partition' ELSE '' END
    || CASE WHEN inherits THEN ', in an inheritance' ELSE '' END || CASE WHEN rules > 0 THEN ', ' || rules || ' rewrite rule(s)' ELSE '' END AS detail
FROM source.relations WHERE kind <> 'r' OR partition OR inherits OR rules > 0
ORDER BY subject, place, first_seq, last_seq, detail
