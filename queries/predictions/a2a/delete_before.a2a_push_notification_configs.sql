-- verb: delete_before
-- table: a2a_push_notification_configs
-- about: rows of a2a_push_notification_configs that go, each by its key.
-- applies: a2a postgres 11-14
-- params: cutoff hugeint
-- needs: a2a_delete_task_push_configs_trigger
SELECT 'a2a_push_notification_configs' AS table_name, [task_id, config_id] AS key, 'a2a_push_notification_configs' AS population, task_id AS scope,
    CAST(NULL AS HUGEINT) AS seq, CASE WHEN ends_with(updated_at, '+00') THEN CAST(floor(epoch(TRY_CAST(left(updated_at, length(updated_at) - 3) AS TIMESTAMP))) AS HUGEINT) END AS ts, 'cascade' AS why
FROM raw.a2a_push_notification_configs WHERE task_id IN (SELECT id FROM raw.a2a_tasks WHERE (CASE WHEN updated_at = '-infinity' OR ends_with(updated_at, ' BC') THEN true
        WHEN ends_with(updated_at, '+00') THEN epoch(TRY_CAST(left(updated_at, length(updated_at) - 3) AS TIMESTAMP)) < $cutoff ELSE false END)) AND local_postgres_task = 1
