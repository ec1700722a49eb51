-- view: stored_rows
-- kind: part
-- about: one row a row of either table, in the terms that both have.
-- applies: a2a-js postgres 1, a2a-js sqlite 1
SELECT 'tasks' AS table_name, task_id AS place, tenant, owner, ok OR rejected AS ok, reason FROM audit.tasks
