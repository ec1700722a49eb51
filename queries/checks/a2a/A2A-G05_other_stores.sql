-- code: A2A-G05
-- title: Another store of these names in the same database
-- severity: info
-- applies: a2a postgres 1-14
-- params: none
-- examines: source.siblings
-- proves: Another schema of this database has a table of the same name.
-- does not prove: Which of the stores a service uses.
-- meaning: Several stores are legal; left-overs of performance runs look the same.
-- next: Check that the service is configured for the schema you mean.
SELECT schema_name AS subject, product AS place, CAST(NULL AS BIGINT) AS first_seq, CAST(NULL AS BIGINT) AS last_seq, 1 AS records, 'schema ' || left(schema_name, 63) || ' holds tables of ' || product AS detail
FROM source.siblings WHERE NOT here
ORDER BY subject, place, first_seq, last_seq, detail
