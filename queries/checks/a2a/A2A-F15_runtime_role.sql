-- code: A2A-F15
-- title: The service's role lacks rights
-- severity: high
-- applies: a2a postgres 1-14
-- params: runtime_role varchar
-- examines: source.role_rights
-- proves: The role that the policy names lacks a right that the stores' statements need, or does not exist.
-- does not prove: That it is the role the service uses.
-- meaning: The service fails at run time; the grants of the migration alone are not enough.
-- next: Grant what is named.
WITH named AS (SELECT CAST($runtime_role AS VARCHAR) AS role)
SELECT 'roles' AS subject, n.role AS place, CAST(NULL AS BIGINT) AS first_seq, CAST(NULL AS BIGINT) AS last_seq, 1 AS records,
    CASE WHEN r.role IS NULL THEN 'there is no such role' ELSE 'lacks ' || r.lacking END AS detail
FROM named AS n LEFT JOIN source.role_rights AS r ON r.role = n.role
WHERE r.role IS NULL OR r.lacking <> ''
ORDER BY subject, place, first_seq, last_seq, detail
