-- code: A2A-K16
-- title: Tokens and credentials in clear
-- severity: info
-- applies: a2a postgres 20
-- params: none
-- examines: audit.push_configs
-- proves: Plain configurations hold tokens or credentials.
-- does not prove: That they are valid.
-- meaning: Who reads the table, a dump or the disk has them.
-- next: Encrypt the disk and dumps; keep who may read the table few. The SDK has no encryption of its own.
SELECT 'a2a_push_notification_configs' AS subject, 'plain' AS place, CAST(NULL AS BIGINT) AS first_seq, CAST(NULL AS BIGINT) AS last_seq, count(*) AS records, count(*) FILTER (token) || ' token(s), ' || count(*) FILTER (credentials) || ' credential(s)' AS detail FROM audit.push_configs WHERE token OR credentials HAVING count(*) > 0
ORDER BY subject, place, first_seq, last_seq, detail
