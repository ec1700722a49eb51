-- view: stored_rows
-- kind: part
-- about: one row a row of either table, in the terms that both have.
-- applies: a2a-js postgres 1, a2a-js sqlite 1
SELECT 'push_notification_configs' AS table_name, task_id || ' / ' || config_id AS place, tenant, owner, form = 'json' OR rejected AS ok, 'no JSON object' AS reason
FROM audit.push_configs
