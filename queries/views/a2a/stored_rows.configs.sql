-- view: stored_rows
-- kind: part
-- about: one row a row of either table, in the terms that both have. scope: within it the created sequence orders a list.
-- applies: a2a postgres 1-14
SELECT 'a2a_push_notification_configs' AS table_name, task_id || ' / ' || config_id AS place, task_id AS scope, created_sequence, updated, bytes, ok,
    reason, concat_ws(', ', CASE WHEN task_id = '' THEN 'task_id' END, CASE WHEN config_id = '' THEN 'config_id' END,
        CASE WHEN url_length = 0 THEN 'url' END) AS empty_fields
FROM audit.push_configs
