-- code: A2A-D25
-- title: A configuration in the numbering of an earlier draft
-- severity: high
-- applies: a2a postgres 1-14
-- params: none
-- examines: audit.push_configs
-- proves: The payload makes sense only by the field numbers of an earlier draft of the protocol (id 1, task 2, endpoint 3).
-- does not prove: Which version wrote it.
-- meaning: Today's SDK reads it as a configuration without a URL for a task named like one.
-- next: Write the configuration again with today's SDK.
SELECT 'a2a_push_notification_configs' AS subject, task_id || ' / ' || config_id AS place, created_sequence AS first_seq, created_sequence AS last_seq, 1 AS records, 'the endpoint stands where the task id belongs' AS detail FROM audit.push_configs WHERE old_numbering
ORDER BY subject, place, first_seq, last_seq, detail
