-- code: A2A-M01
-- title: The provenance column is not as the SDK demands
-- severity: critical
-- applies: a2a postgres 4-14
-- params: none
-- examines: source.relations
-- proves: local_postgres_task is missing, not boolean, may be NULL, or has another default than false.
-- does not prove: Who changed it, or when.
-- meaning: The SDK refuses to start on this store.
-- next: Repair the column on a copy as the migration of your SDK version defines it, then here.
WITH had AS (SELECT kind, required, said FROM source.column_defaults WHERE table_name = 'a2a_push_notification_configs' AND column_name = 'local_postgres_task'),
there AS (SELECT count(*) AS n FROM source.relations WHERE name = 'a2a_push_notification_configs')
SELECT 'a2a_push_notification_configs' AS subject, 'local_postgres_task' AS place, CAST(NULL AS BIGINT) AS first_seq, CAST(NULL AS BIGINT) AS last_seq, 1 AS records,
    coalesce('type ' || kind || CASE WHEN required THEN '' ELSE ', may be NULL' END || ', default ' || coalesce(left(said, 40), 'none'), 'the column is missing') AS detail
FROM there LEFT JOIN had ON true
WHERE n = 1 AND (kind IS NULL OR kind <> 'boolean' OR NOT required OR said IS DISTINCT FROM 'false')
ORDER BY subject, place, first_seq, last_seq, detail
