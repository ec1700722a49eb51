-- code: A2A-F06
-- title: The owner of the cleanup lacks rights
-- severity: critical
-- applies: a2a postgres 11-14
-- params: none
-- examines: source.functions
-- proves: The function's owner has no USAGE on the schema, or no SELECT or DELETE on the push configurations.
-- does not prove: Who changed it, or when.
-- meaning: The SDK refuses to start, and deletes of tasks fail.
-- next: Grant the owner what is missing.
SELECT 'functions' AS subject, name AS place, CAST(NULL AS BIGINT) AS first_seq, CAST(NULL AS BIGINT) AS last_seq, 1 AS records, concat_ws(', ', CASE WHEN NOT owner_usage THEN 'no USAGE on the schema' END, CASE WHEN NOT owner_select_configs THEN 'no SELECT on the configurations' END, CASE WHEN NOT owner_delete_configs THEN 'no DELETE on the configurations' END) || ' for ' || left(owner, 63) AS detail FROM source.functions WHERE intended AND name = 'a2a_delete_task_push_configs' AND (NOT owner_usage OR NOT owner_select_configs OR NOT owner_delete_configs)
ORDER BY subject, place, first_seq, last_seq, detail
