-- code: A2A-M06
-- title: A store for push configurations only
-- severity: info
-- applies: a2a postgres 4-4
-- params: none
-- examines: source.relations
-- proves: The provenance column is there, and no helper and no trigger is.
-- does not prove: That this is meant.
-- meaning: The SDK starts, and every creation for a task of this database fails, by design.
-- next: Confirm that tasks live elsewhere; otherwise run the migration.
SELECT 'a2a_push_notification_configs' AS subject, 'helpers' AS place, CAST(NULL AS BIGINT) AS first_seq, CAST(NULL AS BIGINT) AS last_seq, 1 AS records, 'no helper and no trigger: creation for tasks of this database fails' AS detail
FROM source.relations WHERE name = 'a2a_push_notification_configs'
ORDER BY subject, place, first_seq, last_seq, detail
