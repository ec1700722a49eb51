-- view: stored_rows
-- kind: part
-- about: one row a row of either table of the Java SDK, in the terms that both have.
-- applies: a2a postgres 20
SELECT 'a2a_tasks' AS table_name, task_id AS place, ok, reason FROM audit.tasks
