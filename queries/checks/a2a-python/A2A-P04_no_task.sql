-- code: A2A-P04
-- title: Configurations without their task
-- severity: info
-- applies: a2a-python postgres 1-4, a2a-python sqlite 1-4
-- params: none
-- examines: audit.config_tasks
-- proves: No task of this store has the configuration's task id.
-- does not prove: That it is wrong: the SDK never removes configurations, and tasks may live elsewhere.
-- meaning: Callbacks and secrets are kept for tasks that are gone.
-- next: Sweep them regularly.
SELECT 'push_notification_configs' AS subject, 'without task' AS place, CAST(NULL AS BIGINT) AS first_seq, CAST(NULL AS BIGINT) AS last_seq, count(*) AS records, count(*) || ' configuration(s); the first is of task ' || left(min(c.task_id), 60) AS detail
FROM audit.config_tasks AS c WHERE NOT has_task HAVING count(*) > 0
ORDER BY subject, place, first_seq, last_seq, detail
