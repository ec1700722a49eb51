-- code: A2A-F16
-- title: Roles that may read push configurations
-- severity: high
-- applies: a2a postgres 1-14
-- params: none
-- examines: source.acl
-- proves: PUBLIC has SELECT on the push configurations; for a role that may read and not write them it is info.
-- does not prove: That anybody read them.
-- meaning: Callback URLs, tokens and credentials of all tasks are readable.
-- next: Revoke SELECT from PUBLIC; keep readers to those who need it, an auditor for example.
WITH may AS (
    SELECT role, bool_or(privilege = 'SELECT') AS reads, bool_or(privilege IN ('INSERT', 'UPDATE', 'DELETE')) AS writes, bool_or(is_owner) AS owns
    FROM source.acl WHERE object = 'a2a_push_notification_configs' GROUP BY role
)
SELECT 'roles' AS subject, role AS place, CAST(NULL AS BIGINT) AS first_seq, CAST(NULL AS BIGINT) AS last_seq, 1 AS records, 'SELECT on the push configurations' AS detail,
    CASE WHEN role = 'PUBLIC' THEN 'high' ELSE 'info' END AS severity
FROM may WHERE reads AND NOT owns AND (role = 'PUBLIC' OR NOT writes)
ORDER BY subject, place, first_seq, last_seq, detail
