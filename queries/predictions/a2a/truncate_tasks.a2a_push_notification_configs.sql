-- verb: truncate_tasks
-- table: a2a_push_notification_configs
-- about: rows of a2a_push_notification_configs that go, each by its key.
-- applies: a2a postgres 14
-- params: none
-- needs: a2a_truncate_task_push_configs_trigger
SELECT 'a2a_push_notification_configs' AS table_name, [task_id, config_id] AS key, 'a2a_push_notification_configs' AS population, task_id AS scope,
    CAST(NULL AS HUGEINT) AS seq, CASE WHEN ends_with(updated_at, '+00') THEN CAST(floor(epoch(TRY_CAST(left(updated_at, length(updated_at) - 3) AS TIMESTAMP))) AS HUGEINT) END AS ts, 'cascade' AS why
FROM raw.a2a_push_notification_configs WHERE local_postgres_task = 1
