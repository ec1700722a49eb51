-- code: A2A-M10
-- title: A second function named like a helper
-- severity: medium
-- applies: a2a postgres 1-14
-- params: none
-- examines: source.relations
-- proves: The schema has a function of a helper's name with other arguments.
-- does not prove: That it is ever called.
-- meaning: Confusing at best; a call with other types would reach it.
-- next: Find out who made it, and drop it if it is nobody's.
SELECT 'functions' AS subject, name AS place, CAST(NULL AS BIGINT) AS first_seq, CAST(NULL AS BIGINT) AS last_seq, 1 AS records, 'with the arguments (' || left(arguments, 80) || ')' AS detail FROM source.functions WHERE here AND NOT intended
ORDER BY subject, place, first_seq, last_seq, detail
