-- view: orphan_causes
-- kind: table
-- about: one row a task id of push configurations that have no task: how many, whether local, and the likely cause, as far as something of it
--   is still to be seen. A task whose payload has the id tells a changed id; all else is told from what would let it happen again.
-- applies: a2a postgres 1-14
WITH orphans AS (
    SELECT task_id, local, count(*) AS configurations, min(created_sequence) AS first_seq, max(created_sequence) AS last_seq
    FROM audit.config_tasks WHERE NOT has_task GROUP BY task_id, local
), moved AS (SELECT DISTINCT payload_id FROM audit.tasks WHERE ok AND payload_id <> task_id),
clean AS (SELECT * FROM source.functions WHERE name = 'a2a_delete_task_push_configs' AND intended),
ours AS (
    SELECT * FROM source.triggers WHERE table_name = 'a2a_tasks' AND name IN ('a2a_lock_task_for_delete_trigger', 'a2a_delete_task_push_configs_trigger',
        'a2a_truncate_task_push_configs_trigger')
), g AS (SELECT greatest(stamp, implied) AS number FROM source.store),
seen (rank, cause) AS (
    SELECT 1, 'triggers are not there (A2A-M03): restored without them, or dropped' FROM g
    WHERE number >= 11 AND (SELECT count(*) FROM ours) < CASE WHEN number >= 14 THEN 3 WHEN number = 13 THEN 2 ELSE 1 END
    UNION ALL SELECT 2, 'a trigger is off, or fires for replicas only (A2A-F11)' WHERE EXISTS (SELECT 1 FROM ours WHERE enabled IN ('D', 'R'))
    UNION ALL SELECT 3, 'a helper is in, or names, another schema (A2A-M11): the schema was copied or renamed'
    WHERE EXISTS (SELECT 1 FROM source.functions WHERE intended AND (NOT here OR foreign_schema IS NOT NULL))
    UNION ALL SELECT 4, 'an older process has put its cleanup back (A2A-M04): since then a truncate removes nothing'
    WHERE EXISTS (SELECT 1 FROM ours WHERE name = 'a2a_truncate_task_push_configs_trigger') AND EXISTS (SELECT 1 FROM clean WHERE marker < 14)
    UNION ALL SELECT 5, 'the lock helpers make unequal keys (A2A-L04): creation does not wait for a delete' FROM source.functions AS p JOIN source.functions AS d
        ON p.name = 'a2a_lock_task_for_push_config' AND d.name = 'a2a_lock_task_for_delete' AND p.intended AND d.intended
    WHERE p.lock_key <> '' AND d.lock_key <> '' AND p.lock_key <> d.lock_key
    UNION ALL SELECT 6, 'the cleanup does not see all rows (A2A-F08)' WHERE EXISTS (SELECT 1 FROM clean WHERE owner_filtered)
    UNION ALL SELECT 7, 'a role or database that may delete tasks is set to session_replication_role other than origin (A2A-L02)'
    WHERE EXISTS (SELECT 1 FROM source.settings WHERE name = 'session_replication_role' AND value <> 'origin' AND concerned)
    UNION ALL SELECT 8, 'a role or database that may delete tasks is set to repeatable read or serializable (A2A-L01)'
    WHERE EXISTS (SELECT 1 FROM source.settings WHERE name = 'default_transaction_isolation' AND value IN ('repeatable read', 'serializable') AND concerned)
), likely AS (SELECT string_agg(cause, '; ' ORDER BY rank) AS causes FROM (SELECT DISTINCT rank, cause FROM seen))
SELECT o.task_id, o.local, o.configurations, o.first_seq, o.last_seq,
    CASE WHEN m.payload_id IS NOT NULL THEN 'the id of the task was changed (A2A-D07)'
        WHEN o.local IS NULL AND g.number = 3 THEN 'the foreign key was off: triggers skipped, or not validated'
        WHEN o.local IS NULL THEN 'nothing removes configurations in this generation'
        WHEN NOT o.local THEN 'not local, so never removed with its task: from before the migration, or of a task that is kept elsewhere'
        ELSE coalesce(likely.causes, 'nothing of it is left to see: a delete at repeatable read or serializable, one by a replica role or by logical '
            'replication, or triggers that were off at the time') END AS cause
FROM orphans AS o CROSS JOIN g CROSS JOIN likely LEFT JOIN moved AS m ON m.payload_id = o.task_id
