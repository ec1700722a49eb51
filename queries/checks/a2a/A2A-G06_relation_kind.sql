-- code: A2A-G06
-- title: A table is partitioned, inherited or no plain table
-- severity: high
-- applies: a2a postgres 1-14
-- params: none
-- examines: source.relations
-- proves: pg_class says that the relation is partitioned, part of an inheritance, a view or a foreign table.
-- does not prove: Who changed it, or when.
-- meaning: Triggers and locks do not work as they were designed on such a relation.
-- next: Move the rows to a plain table of the same definition, on a copy first.
SELECT name AS subject, name AS place, CAST(NULL AS BIGINT) AS first_seq, CAST(NULL AS BIGINT) AS last_seq, 1 AS records, 'relkind ' || kind || CASE WHEN partition THEN ', a partition' ELSE '' END
    || CASE WHEN inherits THEN ', in an inheritance' ELSE '' END AS detail
FROM source.relations WHERE kind <> 'r' OR partition OR inherits
ORDER BY subject, place, first_seq, last_seq, detail
