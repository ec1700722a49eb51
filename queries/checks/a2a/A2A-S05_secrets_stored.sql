-- code: A2A-S05
-- title: Tokens and credentials in clear
-- severity: info
-- applies: a2a postgres 1-14
-- params: none
-- examines: audit.push_configs
-- proves: Payloads hold a token or credentials. Where PUBLIC may read the table it is high.
-- does not prove: That they are valid.
-- meaning: The SDK does not encrypt what it stores: who reads the table, a dump or the disk has them.
-- next: Encrypt disk and dumps, and limit who may read the table.
SELECT 'a2a_push_notification_configs' AS subject, CASE WHEN auth_scheme = '' THEN 'token only' ELSE 'scheme ' || auth_scheme END AS place, min(created_sequence) AS first_seq, max(created_sequence) AS last_seq, count(*) AS records,
    count(*) FILTER (token) || ' token(s), ' || count(*) FILTER (credentials) || ' credential(s)' AS detail,
    CASE WHEN EXISTS (SELECT 1 FROM source.acl WHERE object = 'a2a_push_notification_configs' AND role = 'PUBLIC' AND privilege = 'SELECT') THEN 'high' ELSE 'info' END AS severity
FROM audit.push_configs WHERE token OR credentials GROUP BY auth_scheme
ORDER BY subject, place, first_seq, last_seq, detail
