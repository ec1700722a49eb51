-- figure: a2a_ended
-- about: Ended tasks that still have push configurations, by state and by the time since they ended.
-- params: as_of hugeint
SELECT state, count(DISTINCT task_id) AS tasks, count(*) AS configurations, count(*) FILTER ($as_of - task_updated < 86400) AS day,
    count(*) FILTER ($as_of - task_updated >= 86400 AND $as_of - task_updated < 604800) AS week, count(*) FILTER ($as_of - task_updated >= 604800) AS older
FROM audit.config_tasks WHERE class = 'terminal' GROUP BY state ORDER BY state
