-- code: A2A-D12
-- title: A configuration's payload differs from its row
-- severity: high
-- applies: a2a postgres 1-14
-- params: none
-- examines: audit.push_configs
-- proves: Task, id or URL in the payload are not those of the row.
-- does not prove: Who changed it, or when.
-- meaning: Delivery uses the payload's URL, the row shows another.
-- next: Write the configuration again through the SDK.
SELECT 'a2a_push_notification_configs' AS subject, task_id || ' / ' || config_id AS place, created_sequence AS first_seq, created_sequence AS last_seq, 1 AS records, concat_ws(', ', CASE WHEN payload_task_id <> task_id THEN 'task' END, CASE WHEN payload_config_id <> config_id THEN 'id' END, CASE WHEN url_differs THEN 'url' END) || ' differ' AS detail FROM audit.push_configs WHERE ok AND NOT old_numbering AND (payload_task_id <> task_id OR payload_config_id <> config_id OR url_differs)
ORDER BY subject, place, first_seq, last_seq, detail
