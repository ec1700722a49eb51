-- code: A2A-L02
-- title: Triggers are skipped by a setting
-- severity: critical
-- applies: a2a postgres 11-14
-- params: none
-- examines: source.relations
-- proves: session_replication_role is not origin for the server, this database, or a role that may delete tasks; for
--   another role it is info.
-- does not prove: That tasks were deleted meanwhile (A2A-D01 tells).
-- meaning: The migration's triggers do not fire.
-- next: Reset the setting, then look for orphans.
SELECT 'settings' AS subject, level || coalesce(' ' || role, '') AS place, CAST(NULL AS BIGINT) AS first_seq, CAST(NULL AS BIGINT) AS last_seq, 1 AS records, name || ' = ' || left(value, 40) AS detail,
    CASE WHEN concerned THEN 'critical' ELSE 'info' END AS severity
FROM source.settings WHERE name = 'session_replication_role' AND value <> 'origin'
ORDER BY subject, place, first_seq, last_seq, detail
