-- code: A2A-F09
-- title: A helper belongs to a superuser
-- severity: info
-- applies: a2a postgres 11-14
-- params: none
-- examines: source.functions
-- proves: The function's owner is a superuser.
-- does not prove: That anything is wrong: many stores are set up this way.
-- meaning: Whoever may replace the function gets more than it needs.
-- next: Give the functions to a role that has just the rights they need.
SELECT 'functions' AS subject, name AS place, CAST(NULL AS BIGINT) AS first_seq, CAST(NULL AS BIGINT) AS last_seq, 1 AS records, 'owned by ' || left(owner, 63) AS detail FROM source.functions WHERE intended AND owner_superuser
ORDER BY subject, place, first_seq, last_seq, detail
