-- figure: a2a_cleanup
-- about: What happens to the push configurations of a task that is deleted: now, and after the newest migration, which leaves rows as they are.
SELECT count(*) AS configurations, count(*) FILTER (local) AS removed, count(*) FILTER (NOT local AND has_task) AS lost,
    count(*) FILTER (NOT local AND NOT has_task) AS external, count(*) FILTER (local IS NULL AND has_task) AS would_lose, count(DISTINCT task_id) FILTER (local IS NOT TRUE AND has_task) AS tasks
FROM audit.config_tasks
ORDER BY configurations
