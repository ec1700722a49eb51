-- figure: a2a_provenance
-- about: Push configurations by provenance and by whether their task is here; a row that is not local loses its automatic cleanup.
SELECT CASE WHEN local THEN 'local' WHEN NOT local THEN 'external or unknown' ELSE 'not told' END AS provenance, has_task,
    count(*) AS configurations, count(DISTINCT task_id) AS tasks
FROM audit.config_tasks GROUP BY ALL ORDER BY ALL
