-- code: A2A-F05
-- title: The owner of the push lock lacks rights
-- severity: critical
-- applies: a2a postgres 11-14
-- params: none
-- examines: source.functions
-- proves: The function's owner has no USAGE on the schema or no SELECT on the tasks.
-- does not prove: Who changed it, or when.
-- meaning: The SDK refuses to start, and every creation for a task fails.
-- next: Grant the owner what is missing.
SELECT 'functions' AS subject, name AS place, CAST(NULL AS BIGINT) AS first_seq, CAST(NULL AS BIGINT) AS last_seq, 1 AS records, concat_ws(', ', CASE WHEN NOT owner_usage THEN 'no USAGE on the schema' END, CASE WHEN NOT owner_select_tasks THEN 'no SELECT on the tasks' END) || ' for ' || left(owner, 63) AS detail FROM source.functions WHERE intended AND name = 'a2a_lock_task_for_push_config' AND (NOT owner_usage OR NOT owner_select_tasks)
ORDER BY subject, place, first_seq, last_seq, detail
