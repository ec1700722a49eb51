-- code: A2A-M11
-- title: A helper lives in or names another schema
-- severity: critical
-- applies: a2a postgres 11-14
-- params: none
-- examines: source.functions
-- proves: A trigger calls a helper of another schema, or a helper's body names tables of another schema.
-- does not prove: That the other schema has such tables now.
-- meaning: The schema was copied or renamed without its bodies: deletes fail, or delete the configurations of the other
--   store.
-- next: Stop deleting tasks here, then run the migration for this schema.
SELECT 'functions' AS subject, name AS place, CAST(NULL AS BIGINT) AS first_seq, CAST(NULL AS BIGINT) AS last_seq, 1 AS records,
    CASE WHEN NOT here THEN 'the trigger calls it in schema ' || left(schema_name, 63) ELSE 'its body names schema ' || left(foreign_schema, 63) END AS detail
FROM source.functions WHERE intended AND (NOT here OR foreign_schema IS NOT NULL)
ORDER BY subject, place, first_seq, last_seq, detail
