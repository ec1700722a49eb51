-- code: A2A-P07
-- title: Plain and encrypted configurations side by side
-- severity: info
-- applies: a2a-python postgres 1-4, a2a-python sqlite 1-4
-- params: none
-- examines: audit.push_configs
-- proves: Some rows are encrypted tokens and some are plain JSON.
-- does not prove: That it is wrong: reading falls back to plain JSON.
-- meaning: A key was introduced, and rows from before are still in clear.
-- next: Have them written again.
SELECT 'push_notification_configs' AS subject, 'forms' AS place, CAST(NULL AS BIGINT) AS first_seq, CAST(NULL AS BIGINT) AS last_seq, count(*) AS records, count(*) FILTER (form = 'json') || ' plain, ' || count(*) FILTER (form = 'fernet') || ' encrypted' AS detail
FROM audit.push_configs HAVING bool_or(form = 'json') AND bool_or(form = 'fernet')
ORDER BY subject, place, first_seq, last_seq, detail
