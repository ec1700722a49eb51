-- code: A2A-F12
-- title: Other triggers on the tables
-- severity: medium
-- applies: a2a postgres 1-14
-- params: none
-- examines: source.relations
-- proves: A trigger that is not the migration's fires when a task is deleted, updated or truncated, or a
--   configuration is written or deleted.
-- does not prove: That it does harm. One that fires after the deed is info; one before a delete can cancel it.
-- meaning: A trigger before a delete that returns nothing keeps the row: the task, or what the cleanup would have removed.
-- next: Read the function; triggers fire in the order of their names.
SELECT table_name AS subject, name AS place, CAST(NULL AS BIGINT) AS first_seq, CAST(NULL AS BIGINT) AS last_seq, 1 AS records, CASE WHEN type & 2 = 2 THEN 'before ' ELSE 'after ' END
    || concat_ws(', ', CASE WHEN type & 4 = 4 THEN 'insert' END, CASE WHEN type & 8 = 8 THEN 'delete' END, CASE WHEN type & 16 = 16 THEN 'update' END, CASE WHEN type & 32 = 32 THEN 'truncate' END)
    || ', calls ' || left(function_name, 63) AS detail,
    CASE WHEN type & 10 = 10 THEN 'medium' ELSE 'info' END AS severity
FROM source.triggers
WHERE (type & 56 <> 0 OR table_name <> 'a2a_tasks') AND enabled <> 'D'
    AND NOT (table_name = 'a2a_tasks' AND name IN ('a2a_lock_task_for_delete_trigger', 'a2a_delete_task_push_configs_trigger', 'a2a_truncate_task_push_configs_trigger'))
ORDER BY subject, place, first_seq, last_seq, detail
