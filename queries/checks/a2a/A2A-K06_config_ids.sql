-- code: A2A-K06
-- title: A configuration of another task or id
-- severity: high
-- applies: a2a postgres 20
-- params: none
-- examines: audit.push_configs
-- proves: Task or id inside the configuration are not those of its row.
-- does not prove: Who changed it, or when.
-- meaning: Delivery and listing disagree.
-- next: Write the configuration again through the SDK.
SELECT 'a2a_push_notification_configs' AS subject, task_id || ' / ' || config_id AS place, CAST(NULL AS BIGINT) AS first_seq, CAST(NULL AS BIGINT) AS last_seq, 1 AS records, 'the configuration names another task or id' AS detail FROM audit.push_configs WHERE ids_differ
ORDER BY subject, place, first_seq, last_seq, detail
