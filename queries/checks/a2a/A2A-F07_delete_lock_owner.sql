-- code: A2A-F07
-- title: The owner of the delete lock lacks rights
-- severity: critical
-- applies: a2a postgres 13-14
-- params: none
-- examines: source.functions
-- proves: The function's owner has no USAGE on the schema.
-- does not prove: Who changed it, or when.
-- meaning: The SDK refuses to start.
-- next: Grant the owner USAGE on the schema.
SELECT 'functions' AS subject, name AS place, CAST(NULL AS BIGINT) AS first_seq, CAST(NULL AS BIGINT) AS last_seq, 1 AS records, 'no USAGE on the schema for ' || left(owner, 63) AS detail FROM source.functions WHERE intended AND name = 'a2a_lock_task_for_delete' AND NOT owner_usage
ORDER BY subject, place, first_seq, last_seq, detail
