-- view: startup_rules
-- kind: table
-- about: one row a rule of the newest SDK's validation at start-up (v4) that this store has to pass, and whether it holds. A store
--   without helper and trigger has to pass B1 and B2 only. How often a body names its tables is not recounted: the digest decides.
-- applies: a2a postgres 1-14
-- params: accepted_bodies varchar = none
WITH helpers AS (
    SELECT *, coalesce(marker = 14, false) AND security_definer AND volatility = 'v' AND coalesce(contains(settings, 'search_path=pg_catalog'), false)
        AND result = CASE name WHEN 'a2a_lock_task_for_push_config' THEN 'boolean' ELSE 'trigger' END
        AND (list_contains(generations, 14) OR contains($accepted_bodies, digest)) AS sound
    FROM source.functions WHERE here AND intended
), firing AS (
    SELECT name FROM source.triggers
    WHERE table_name = 'a2a_tasks' AND function_here AND enabled IN ('O', 'A') AND NOT conditional AND arguments = 0
        AND (name, type, function_name) IN (('a2a_lock_task_for_delete_trigger', 11, 'a2a_lock_task_for_delete'),
            ('a2a_delete_task_push_configs_trigger', 9, 'a2a_delete_task_push_configs'),
            ('a2a_truncate_task_push_configs_trigger', 32, 'a2a_delete_task_push_configs'))
), capable AS (
    SELECT (SELECT count(*) FROM helpers) + (SELECT count(*) FROM source.triggers WHERE table_name = 'a2a_tasks' AND name IN
        ('a2a_lock_task_for_delete_trigger', 'a2a_delete_task_push_configs_trigger', 'a2a_truncate_task_push_configs_trigger')) > 0 AS migrated
), push AS (SELECT * FROM helpers WHERE name = 'a2a_lock_task_for_push_config'),
lock AS (SELECT * FROM helpers WHERE name = 'a2a_lock_task_for_delete'),
clean AS (SELECT * FROM helpers WHERE name = 'a2a_delete_task_push_configs'),
rules (rule, about, holds, always) AS (
    SELECT 'B1', 'the provenance column is boolean, not null, false by default', EXISTS (SELECT 1 FROM source.column_defaults
        WHERE table_name = 'a2a_push_notification_configs' AND column_name = 'local_postgres_task' AND kind = 'boolean' AND required AND said = 'false'), true
    UNION ALL SELECT 'B2', 'no foreign key from push configurations to tasks', NOT EXISTS (SELECT 1 FROM source.key_constraints), true
    UNION ALL SELECT 'L1', 'push lock: marker, attributes and body, and a table of tasks', coalesce((SELECT bool_and(sound) FROM push), false)
        AND EXISTS (SELECT 1 FROM source.relations WHERE name = 'a2a_tasks'), false
    UNION ALL SELECT 'L2', 'push lock: not for PUBLIC', coalesce((SELECT NOT bool_or(public_execute) FROM push), false), false
    UNION ALL SELECT 'L3', 'push lock: rights of its owner', coalesce((SELECT bool_and(owner_usage AND owner_select_tasks) FROM push), false), false
    UNION ALL SELECT 'C1', 'cleanup: marker, attributes and body', coalesce((SELECT bool_and(sound) FROM clean), false), false
    UNION ALL SELECT 'C2', 'cleanup: not for PUBLIC', coalesce((SELECT NOT bool_or(public_execute) FROM clean), false), false
    UNION ALL SELECT 'C3', 'cleanup: rights of its owner, and no row hidden from it',
        coalesce((SELECT bool_and(owner_usage AND owner_select_configs AND owner_delete_configs AND NOT owner_filtered) FROM clean), false), false
    UNION ALL SELECT 'C4', 'trigger after delete', 'a2a_delete_task_push_configs_trigger' IN (SELECT name FROM firing), false
    UNION ALL SELECT 'D1', 'delete lock: marker, attributes and body', coalesce((SELECT bool_and(sound) FROM lock), false), false
    UNION ALL SELECT 'D2', 'delete lock: not for PUBLIC', coalesce((SELECT NOT bool_or(public_execute) FROM lock), false), false
    UNION ALL SELECT 'D3', 'delete lock: rights of its owner', coalesce((SELECT bool_and(owner_usage) FROM lock), false), false
    UNION ALL SELECT 'D4', 'trigger before delete', 'a2a_lock_task_for_delete_trigger' IN (SELECT name FROM firing), false
    UNION ALL SELECT 'T1', 'trigger after truncate', 'a2a_truncate_task_push_configs_trigger' IN (SELECT name FROM firing), false
)
SELECT rule, about, holds FROM rules, capable WHERE always OR migrated
