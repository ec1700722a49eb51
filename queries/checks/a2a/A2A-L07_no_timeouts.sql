-- code: A2A-L07
-- title: No time limit for waiting
-- severity: info
-- applies: a2a postgres 11-14
-- params: none
-- examines: source.acl
-- proves: For a role that may call the push lock, neither role, database nor server sets lock_timeout or
--   idle_in_transaction_session_timeout.
-- does not prove: That the service does not set it in its sessions.
-- meaning: A session that stays in its transaction makes others wait for ever.
-- next: ALTER ROLE … SET lock_timeout and idle_in_transaction_session_timeout.
WITH wanted (name) AS (VALUES ('lock_timeout'), ('idle_in_transaction_session_timeout')),
callers AS (SELECT DISTINCT role FROM source.acl WHERE object = 'a2a_lock_task_for_push_config' AND privilege = 'EXECUTE' AND role <> 'PUBLIC' AND NOT superuser AND can_login)
SELECT 'settings' AS subject, c.role AS place, CAST(NULL AS BIGINT) AS first_seq, CAST(NULL AS BIGINT) AS last_seq, 1 AS records, 'no ' || string_agg(w.name, ' and no ' ORDER BY w.name) AS detail
FROM callers AS c CROSS JOIN wanted AS w
WHERE NOT EXISTS (SELECT 1 FROM source.settings AS s WHERE s.name = w.name AND NOT regexp_full_match(s.value, '0+[a-z ]*') AND (s.role IS NULL OR s.role = c.role))
GROUP BY c.role
ORDER BY subject, place, first_seq, last_seq, detail
