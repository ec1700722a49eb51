-- view: stored_rows
-- kind: part
-- about: one row a row of either table, in the terms that both have.
-- applies: a2a-python postgres 1-4, a2a-python sqlite 1-4
SELECT 'push_notification_configs' AS table_name, task_id || ' / ' || config_id AS place, owner, form <> 'unreadable' OR rejected AS ok, 'neither JSON nor an encrypted token' AS reason FROM audit.push_configs
