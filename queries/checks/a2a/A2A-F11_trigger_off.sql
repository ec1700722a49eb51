-- code: A2A-F11
-- title: A trigger is off
-- severity: critical
-- applies: a2a postgres 11-14
-- params: none
-- examines: source.triggers
-- proves: A trigger of the migration is disabled, or fires for replicas only.
-- does not prove: For how long it has been so.
-- meaning: Deletes leave callbacks behind, or do not wait for a creation.
-- next: ALTER TABLE … ENABLE TRIGGER, then look for orphans (A2A-D01).
SELECT table_name AS subject, name AS place, CAST(NULL AS BIGINT) AS first_seq, CAST(NULL AS BIGINT) AS last_seq, 1 AS records, CASE enabled WHEN 'D' THEN 'disabled' ELSE 'fires for replicas only' END AS detail
FROM source.triggers WHERE enabled IN ('D', 'R')
    AND name IN ('a2a_lock_task_for_delete_trigger', 'a2a_delete_task_push_configs_trigger', 'a2a_truncate_task_push_configs_trigger')
ORDER BY subject, place, first_seq, last_seq, detail
