-- code: A2A-F14
-- title: A role may call the push lock and not read tasks
-- severity: medium
-- applies: a2a postgres 11-14
-- params: none
-- examines: source.acl
-- proves: A role has EXECUTE on the push lock and no SELECT on the tasks.
-- does not prove: That a service uses this role.
-- meaning: Every one of its calls ends with SQLSTATE 42501.
-- next: Grant SELECT on the tasks to the role, or take EXECUTE away.
SELECT 'roles' AS subject, role AS place, CAST(NULL AS BIGINT) AS first_seq, CAST(NULL AS BIGINT) AS last_seq, 1 AS records, 'EXECUTE on the push lock, no SELECT on the tasks' AS detail
FROM source.acl WHERE object = 'a2a_lock_task_for_push_config' AND privilege = 'EXECUTE' AND NOT is_owner AND NOT superuser AND role <> 'PUBLIC' AND NOT selects_tasks
ORDER BY subject, place, first_seq, last_seq, detail
