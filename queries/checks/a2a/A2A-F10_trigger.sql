-- code: A2A-F10
-- title: A trigger is not the migration's
-- severity: critical
-- applies: a2a postgres 11-14
-- params: none
-- examines: source.triggers
-- proves: A trigger of the migration fires at another moment, has a condition or arguments, or calls another function.
-- does not prove: Who changed it, or when.
-- meaning: Locks are not taken or configurations not removed when a task goes; the SDK refuses to start.
-- next: Run the migration again; it drops and makes the triggers.
WITH due (name, type, function_name) AS (
    VALUES ('a2a_lock_task_for_delete_trigger', 11, 'a2a_lock_task_for_delete'), ('a2a_delete_task_push_configs_trigger', 9, 'a2a_delete_task_push_configs'), ('a2a_truncate_task_push_configs_trigger', 32, 'a2a_delete_task_push_configs')
)
SELECT t.table_name AS subject, t.name AS place, CAST(NULL AS BIGINT) AS first_seq, CAST(NULL AS BIGINT) AS last_seq, 1 AS records, concat_ws(', ', CASE WHEN t.type <> due.type THEN 'type ' || t.type || ', expected ' || due.type END,
    CASE WHEN t.conditional THEN 'it has a condition' END, CASE WHEN t.arguments > 0 THEN 'it has arguments' END,
    CASE WHEN t.function_name <> due.function_name THEN 'it calls ' || left(t.function_name, 63) END) AS detail
FROM source.triggers AS t JOIN due ON due.name = t.name
WHERE t.type <> due.type OR t.conditional OR t.arguments > 0 OR t.function_name <> due.function_name
ORDER BY subject, place, first_seq, last_seq, detail
