-- code: A2A-F13
-- title: No service can create local configurations
-- severity: high
-- applies: a2a postgres 11-14
-- params: none
-- examines: source.acl
-- proves: No role apart from the owner has EXECUTE on the push lock. Where the owner may log in, and so may be the service,
--   it is info.
-- does not prove: Rights by membership in the owner's role.
-- meaning: Every creation for a task ends in permission denied.
-- next: Grant EXECUTE on the function to the SDK's role.
WITH there AS (SELECT count(*) AS n FROM source.functions WHERE name = 'a2a_lock_task_for_push_config' AND here AND intended),
granted AS (SELECT * FROM source.acl WHERE object = 'a2a_lock_task_for_push_config' AND privilege = 'EXECUTE')
SELECT 'functions' AS subject, 'a2a_lock_task_for_push_config' AS place, CAST(NULL AS BIGINT) AS first_seq, CAST(NULL AS BIGINT) AS last_seq, 1 AS records, 'EXECUTE for the owner alone, who may '
    || CASE WHEN (SELECT bool_or(can_login) FROM granted) THEN '' ELSE 'not ' END || 'log in' AS detail,
    CASE WHEN (SELECT bool_or(can_login) FROM granted) THEN 'info' ELSE 'high' END AS severity
FROM there WHERE n > 0 AND NOT EXISTS (SELECT 1 FROM granted WHERE NOT is_owner)
ORDER BY subject, place, first_seq, last_seq, detail
