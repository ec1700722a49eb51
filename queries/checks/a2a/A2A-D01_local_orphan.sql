-- code: A2A-D01
-- title: Configurations of a task that is gone
-- severity: high
-- applies: a2a postgres 4-14
-- params: none
-- examines: audit.config_tasks
-- proves: The configuration was made for a task of this store (local_postgres_task), and there is no such task.
-- does not prove: How it came: a delete at repeatable read, triggers off or skipped, a changed task id, unequal lock keys
--   or a restore all leave this.
-- meaning: Callback, token and credentials are kept for a task that no longer exists, and nothing will remove them.
-- next: Find the cause among A2A-M, F and L findings first, then delete the configurations.
SELECT 'a2a_push_notification_configs' AS subject, task_id AS place, min(created_sequence) AS first_seq, max(created_sequence) AS last_seq, count(*) AS records, count(*) || ' local configuration(s) without their task' AS detail
FROM audit.config_tasks WHERE local AND NOT has_task GROUP BY task_id
ORDER BY subject, place, first_seq, last_seq, detail
