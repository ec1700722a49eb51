-- code: A2A-D01
-- title: Configurations of a task that is gone
-- severity: high
-- applies: a2a postgres 4-14
-- params: none
-- examines: audit.config_tasks
-- proves: The configuration was made for a task of this store (local_postgres_task), and there is no such task.
-- does not prove: How it came. The likely cause is told where something of it is still to be seen; a delete at repeatable read
--   and one that skipped the triggers leave nothing but this.
-- meaning: Callback, token and credentials are kept for a task that no longer exists, and nothing will remove them.
-- next: Find the cause among A2A-M, F and L findings first, then delete the configurations.
SELECT 'a2a_push_notification_configs' AS subject, task_id AS place, first_seq, last_seq, configurations AS records,
    configurations || ' local configuration(s) without their task; likely: ' || cause AS detail
FROM audit.orphan_causes WHERE local
ORDER BY subject, place, first_seq, last_seq, detail
