-- code: A2A-M09
-- title: The created sequence is missing or not given by its sequence
-- severity: high
-- applies: a2a postgres 2-14
-- params: none
-- examines: source.relations
-- proves: created_sequence is not there, its default is not the next value of the sequence the SDK makes for it,
--   or that sequence does not count upwards.
-- does not prove: Who changed it, or when.
-- meaning: Listing fails or has no order that pages could follow.
-- next: Let the SDK's initialiser run on a copy and compare.
WITH g AS (SELECT greatest(stamp, implied) AS number FROM source.store), due (table_name, sequence_name, since) AS (
    VALUES ('a2a_tasks', 'a2a_tasks_created_sequence', 2), ('a2a_push_notification_configs', 'a2a_push_configs_created_sequence', 3)
)
SELECT due.table_name AS subject, 'created_sequence' AS place, CAST(NULL AS BIGINT) AS first_seq, CAST(NULL AS BIGINT) AS last_seq, 1 AS records,
    CASE WHEN c.column_name IS NULL THEN 'the column is missing' WHEN s.step < 1 THEN 'its sequence counts by ' || s.step ELSE 'its default is not the next value of ' || due.sequence_name || ' in this schema' END AS detail
FROM due CROSS JOIN g JOIN source.relations AS r ON r.name = due.table_name
LEFT JOIN source.column_defaults AS c ON c.table_name = due.table_name AND c.column_name = 'created_sequence'
LEFT JOIN source.defaults AS d ON d.table_name = due.table_name AND d.column_name = 'created_sequence' AND d.sequence_name = due.sequence_name AND d.sequence_here
LEFT JOIN source.sequences AS s ON s.name = due.sequence_name
WHERE due.since <= g.number AND (s.step < 1 OR d.sequence_name IS NULL OR NOT coalesce(starts_with(c.said, 'nextval('), false))
ORDER BY subject, place, first_seq, last_seq, detail
