-- code: A2A-F18
-- title: Row-level security on the tasks
-- severity: high
-- applies: a2a postgres 4-14
-- params: none
-- examines: source.relations
-- proves: The tasks have row-level security. Without helpers, where tasks of other databases are served, it is info.
-- does not prove: Who changed it, or when.
-- meaning: The push lock refuses every local creation with SQLSTATE 0A000.
-- next: Disable row-level security on the tasks, or serve them from a store of their own.
SELECT name AS subject, name AS place, CAST(NULL AS BIGINT) AS first_seq, CAST(NULL AS BIGINT) AS last_seq, 1 AS records, 'row-level security is ' || CASE WHEN forced THEN 'forced' ELSE 'on' END AS detail,
    CASE WHEN EXISTS (SELECT 1 FROM source.functions WHERE name = 'a2a_lock_task_for_push_config') THEN 'high' ELSE 'info' END AS severity
FROM source.relations WHERE name = 'a2a_tasks' AND row_security
ORDER BY subject, place, first_seq, last_seq, detail
