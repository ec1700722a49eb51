-- view: stored_rows
-- kind: part
-- about: one row a row of either table, in the terms that both have.
-- applies: a2a-python postgres 1-4, a2a-python sqlite 1-4
SELECT 'tasks' AS table_name, task_id AS place, owner, ok OR rejected AS ok, reason FROM audit.tasks
