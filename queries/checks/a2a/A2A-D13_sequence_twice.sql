-- code: A2A-D13
-- title: A created sequence twice
-- severity: medium
-- applies: a2a postgres 2-14
-- params: none
-- examines: audit.stored_rows
-- proves: Two tasks, or two configurations of one task, have the same created_sequence.
-- does not prove: Who changed it, or when.
-- meaning: The order of a list is not defined, and pages may skip or repeat rows. No constraint keeps it from happening.
-- next: Renumber the later rows from the sequence.
WITH several AS (
    -- Nearly every number stands once: only the others are looked at by scope.
    SELECT table_name, created_sequence FROM audit.stored_rows WHERE created_sequence IS NOT NULL GROUP BY table_name, created_sequence HAVING count(*) > 1
)
SELECT table_name AS subject, CASE WHEN scope = '' THEN 'created_sequence' ELSE scope END AS place, created_sequence AS first_seq, created_sequence AS last_seq, count(*) AS records,
    count(*) || ' rows have it; the first is ' || left(min(place), 120) AS detail
FROM audit.stored_rows SEMI JOIN several USING (table_name, created_sequence) GROUP BY table_name, scope, created_sequence HAVING count(*) > 1
ORDER BY subject, place, first_seq, last_seq, detail
