-- code: A2A-F17
-- title: PUBLIC may create objects in the schema
-- severity: medium
-- applies: a2a postgres 11-14
-- params: none
-- examines: source.acl
-- proves: PUBLIC has CREATE on the schema of the store. PostgreSQL before 15 grants it on public by itself.
-- does not prove: That anybody did.
-- meaning: Anybody can put objects beside functions that run with their owner's rights.
-- next: REVOKE CREATE ON SCHEMA … FROM PUBLIC.
SELECT 'roles' AS subject, role AS place, CAST(NULL AS BIGINT) AS first_seq, CAST(NULL AS BIGINT) AS last_seq, 1 AS records, 'CREATE on the schema' AS detail FROM source.acl WHERE object = 'schema' AND privilege = 'CREATE' AND role = 'PUBLIC'
ORDER BY subject, place, first_seq, last_seq, detail
