-- code: A2A-K12
-- title: Secrets inside URLs
-- severity: high
-- applies: a2a postgres 20
-- params: none
-- examines: audit.push_configs
-- proves: The URL has a user name or password, or a query parameter that looks like a secret.
-- does not prove: That it is valid.
-- meaning: The secret stands in logs of whoever is called.
-- next: Ask the clients to use the authentication fields, and change the secrets.
SELECT 'a2a_push_notification_configs' AS subject, scheme || '://' || CASE WHEN host = '' THEN '(unreadable host)' ELSE left(host, 80) END AS place, CAST(NULL AS BIGINT) AS first_seq, CAST(NULL AS BIGINT) AS last_seq, count(*) AS records, count(*) FILTER (userinfo) || ' with a user name, ' || count(*) FILTER (secret_query) || ' with a parameter that looks like a secret' AS detail
FROM audit.push_configs WHERE form = 'json' AND (userinfo OR secret_query) GROUP BY scheme, host, reach
ORDER BY subject, place, first_seq, last_seq, detail
