-- code: A2A-G02
-- title: Tables of the Java SDK under the names of the C++ SDK
-- severity: critical
-- applies: a2a postgres 1-20
-- params: none
-- examines: source.column_defaults
-- proves: The table has the Java SDK's columns (task_id, task_data) and not the C++ SDK's (id, task_proto).
-- does not prove: That anything is wrong with the Java SDK's own use of them; without objects of the C++ SDK beside them
--   this is info.
-- meaning: The C++ SDK's migration must never run here: it installs without an error, and from then on every delete of a
--   task fails.
-- next: Keep the C++ SDK and its migration away from this schema; give it a schema of its own. Remove its triggers if they
--   are there.
WITH java AS (
    SELECT table_name FROM source.column_defaults GROUP BY table_name
    HAVING bool_or(column_name = 'task_data') AND NOT bool_or(column_name IN ('task_proto', 'config_proto'))
), mixed AS (
    SELECT (SELECT count(*) FROM source.functions) + (SELECT count(*) FROM source.triggers WHERE starts_with(name, 'a2a_'))
        + (SELECT count(*) FROM source.column_defaults WHERE column_name = 'local_postgres_task') AS objects
)
SELECT table_name AS subject, table_name AS place, CAST(NULL AS BIGINT) AS first_seq, CAST(NULL AS BIGINT) AS last_seq, 1 AS records,
    'a table of the A2A Java SDK; the C++ migration must not run here'
    || CASE WHEN objects > 0 THEN ', and ' || objects || ' object(s) of the C++ SDK are there already: deletes of tasks fail' ELSE '' END AS detail,
    CASE WHEN objects > 0 THEN 'critical' ELSE 'info' END AS severity
FROM java, mixed
ORDER BY subject, place, first_seq, last_seq, detail
