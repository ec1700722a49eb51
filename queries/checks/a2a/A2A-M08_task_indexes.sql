-- code: A2A-M08
-- title: Indexes of the tasks are not those of the generation
-- severity: medium
-- applies: a2a postgres 2-14
-- params: none
-- examines: source.relations
-- proves: An index has the first shape's columns, is not valid, is left over, or is missing (low).
-- does not prove: How slow a list is.
-- meaning: The initialiser keeps an index that has the right name, whatever its columns: lists sort instead of reading in
--   order.
-- next: Drop the index and let the SDK make it again, CONCURRENTLY by hand on a large table.
WITH due (name, tail) AS (
    VALUES ('idx_a2a_tasks_context', '(context_id, created_sequence)'), ('idx_a2a_tasks_state', '(state, created_sequence)'),
        ('idx_a2a_tasks_created_sequence', '(created_sequence)')
)
SELECT 'a2a_tasks' AS subject, due.name AS place, CAST(NULL AS BIGINT) AS first_seq, CAST(NULL AS BIGINT) AS last_seq, 1 AS records,
    CASE WHEN i.name IS NULL THEN 'the index is not there' WHEN NOT i.valid THEN 'the index is not valid' ELSE 'the index has other columns' END AS detail,
    CASE WHEN i.name IS NULL THEN 'low' ELSE 'medium' END AS severity
FROM due LEFT JOIN source.indexes AS i ON i.name = due.name AND i.table_name = 'a2a_tasks'
WHERE EXISTS (SELECT 1 FROM source.column_defaults WHERE table_name = 'a2a_tasks') AND (i.name IS NULL OR NOT i.valid OR NOT ends_with(i.definition, due.tail))
UNION ALL
SELECT table_name, name, NULL, NULL, 1, 'left over from the first shape', 'medium' FROM source.indexes WHERE name = 'idx_a2a_tasks_updated'
ORDER BY subject, place, first_seq, last_seq, detail
