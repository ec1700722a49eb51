-- code: A2A-M02
-- title: A foreign key from push configurations to tasks
-- severity: critical
-- applies: a2a postgres 4-14
-- params: none
-- examines: source.relations
-- proves: A foreign key of some name goes from the push configurations to the tasks, and the store is past the foreign-key
--   era.
-- does not prove: Who changed it, or when.
-- meaning: The SDK refuses to start; external configurations cannot be written.
-- next: Drop the constraint as the migration does; it drops only the one of its own name.
SELECT 'a2a_push_notification_configs' AS subject, name AS place, CAST(NULL AS BIGINT) AS first_seq, CAST(NULL AS BIGINT) AS last_seq, 1 AS records, 'on delete ' || on_delete || CASE WHEN validated THEN '' ELSE ', not validated' END AS detail
FROM source.key_constraints
ORDER BY subject, place, first_seq, last_seq, detail
