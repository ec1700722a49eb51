-- code: A2A-D02
-- title: Configurations that will outlive their task
-- severity: medium
-- applies: a2a postgres 4-14
-- params: none
-- examines: audit.config_tasks
-- proves: The configuration is not marked as local, and a task of this store has its id.
-- does not prove: That it belongs to this task: only the operator knows. Rows from before the migration and rows that an
--   external writer wrote last look alike.
-- meaning: When the task is deleted these rows stay. Before the migration the foreign key removed them.
-- next: If this store's tasks are the only ones, adopt the rows: set local_postgres_task where the task exists, as a
--   reviewed step.
SELECT 'a2a_push_notification_configs' AS subject, 'not local' AS place, min(created_sequence) AS first_seq, max(created_sequence) AS last_seq, count(*) AS records, count(*) || ' configuration(s) of ' || count(DISTINCT task_id) || ' task(s); the first is of task ' || left(min(task_id), 60) AS detail
FROM audit.config_tasks WHERE NOT local AND has_task HAVING count(*) > 0
ORDER BY subject, place, first_seq, last_seq, detail
