-- code: A2A-D03
-- title: Configurations of tasks that are not here
-- severity: info
-- applies: a2a postgres 4-14
-- params: none
-- examines: audit.config_tasks
-- proves: The configuration is not marked as local, and no task of this store has its id.
-- does not prove: Whether it is external or abandoned; only the operator can tell.
-- meaning: Legal where tasks live elsewhere. On a store of its own they are left-overs with callbacks and secrets in them.
-- next: If no other task store uses this table, delete them.
SELECT 'a2a_push_notification_configs' AS subject, 'not local' AS place, min(created_sequence) AS first_seq, max(created_sequence) AS last_seq, count(*) AS records, count(*) || ' configuration(s) of ' || count(DISTINCT task_id) || ' task id(s); the first is ' || left(min(task_id), 60) AS detail
FROM audit.config_tasks WHERE NOT local AND NOT has_task HAVING count(*) > 0
ORDER BY subject, place, first_seq, last_seq, detail
