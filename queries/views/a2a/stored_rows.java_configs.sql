-- view: stored_rows
-- kind: part
-- about: one row a row of either table of the Java SDK, in the terms that both have.
-- applies: a2a postgres 20
SELECT 'a2a_push_notification_configs' AS table_name, task_id || ' / ' || config_id AS place, form = 'json' AS ok, 'no JSON object' AS reason FROM audit.push_configs
