-- code: A2A-G03
-- title: A table is not what its generation has
-- severity: high
-- applies: a2a postgres 1-14
-- params: none
-- examines: source.relations
-- proves: A table, column, type, NULL rule, default or key differs from the schema of this generation.
-- does not prove: Who changed it, or when.
-- meaning: The schema was edited by hand or belongs to something else; the SDK's statements may fail.
-- next: Compare with a fresh store of the same SDK version, in a schema of its own.
WITH telling AS (
    -- What other checks name: provenance (M01), a sequence's default (M09), columns that a whole generation lacks (G04), UNLOGGED (G07).
    SELECT d.*, c.fit, c.tasks, c.configs, k.kind AS has_kind, k.required FROM source.differences AS d CROSS JOIN source.classes AS c
    LEFT JOIN source.column_defaults AS k ON k.table_name = d.table_name AND k.column_name = d.name
)
SELECT table_name AS subject, name AS place, CAST(NULL AS BIGINT) AS first_seq, CAST(NULL AS BIGINT) AS last_seq, 1 AS records, kind || ': ' || detail AS detail
FROM telling
WHERE kind IN ('table-missing', 'table-differs') AND name NOT IN ('local_postgres_task', '')
    AND NOT (name = 'created_sequence' AND has_kind = 'bigint' AND required)
    AND NOT (name IN ('created_sequence', 'revision', 'has_status_timestamp') AND contains(detail, 'is missing')
        AND NOT fit AND tasks <> 'unknown' AND configs <> 'unknown')
ORDER BY subject, place, first_seq, last_seq, detail
