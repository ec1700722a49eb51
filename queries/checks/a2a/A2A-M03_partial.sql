-- code: A2A-M03
-- title: Some of the migration's objects are missing
-- severity: critical
-- applies: a2a postgres 4-14
-- params: none
-- examines: source.relations
-- proves: At least one helper or trigger is there, and not all that this generation has.
-- does not prove: Who changed it, or when.
-- meaning: The SDK refuses to start. Deletes may leave callbacks behind, or creation may not wait for a delete.
-- next: Run the whole migration of your SDK version again; it is one transaction and changes no row.
WITH g AS (SELECT greatest(stamp, implied) AS number FROM source.store), due (name, kind, since) AS (
    VALUES ('a2a_lock_task_for_push_config', 'function', 11), ('a2a_delete_task_push_configs', 'function', 11), ('a2a_delete_task_push_configs_trigger', 'trigger', 11),
        ('a2a_lock_task_for_delete', 'function', 13), ('a2a_lock_task_for_delete_trigger', 'trigger', 13), ('a2a_truncate_task_push_configs_trigger', 'trigger', 14)
), there AS (
    SELECT name FROM source.functions WHERE intended UNION ALL SELECT name FROM source.triggers WHERE table_name = 'a2a_tasks'
)
SELECT 'a2a_tasks' AS subject, due.name AS place, CAST(NULL AS BIGINT) AS first_seq, CAST(NULL AS BIGINT) AS last_seq, 1 AS records, 'the ' || due.kind || ' is not there' AS detail
FROM due, g WHERE g.number >= 11 AND due.since <= g.number AND due.name NOT IN (SELECT name FROM there)
ORDER BY subject, place, first_seq, last_seq, detail
