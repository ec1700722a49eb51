-- view: write_populations
-- kind: part
-- about: one row a population that this generation writes, and its records, none included.
-- applies: busbar sqlite 8-12, busbar postgres 10-11
SELECT 2 AS place, 'tasks' AS population, count(*) AS records FROM audit.tasks
UNION ALL
SELECT 3, 'task events', count(*) FROM audit.task_events
