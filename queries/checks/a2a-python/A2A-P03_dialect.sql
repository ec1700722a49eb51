-- code: A2A-P03
-- title: A task in another dialect than its version says
-- severity: high
-- applies: a2a-python postgres 1-4, a2a-python sqlite 1-4
-- params: none
-- examines: audit.tasks
-- proves: protocol_version is 1.0 and the state is spelled as in 0.3, or the other way round, or the version is none of
--   these.
-- does not prove: Who changed it, or when.
-- meaning: The SDK reads the row by the wrong rules, and fails.
-- next: Write the task again through the SDK.
SELECT 'tasks' AS subject, task_id AS place, CAST(NULL AS BIGINT) AS first_seq, CAST(NULL AS BIGINT) AS last_seq, 1 AS records, 'protocol_version ' || CASE WHEN regexp_full_match(protocol_version, '[0-9.]{1,16}') THEN protocol_version ELSE 'that is none' END || ', dialect ' || coalesce(dialect, 'unknown') AS detail
FROM audit.tasks WHERE ok AND protocol_version IS NOT NULL AND dialect IS NOT NULL AND protocol_version <> dialect
ORDER BY subject, place, first_seq, last_seq, detail
