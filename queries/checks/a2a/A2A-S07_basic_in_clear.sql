-- code: A2A-S07
-- title: Passwords over http
-- severity: high
-- applies: a2a postgres 1-14
-- params: none
-- examines: audit.push_configs
-- proves: The scheme of authentication is Basic and the URL's scheme is http.
-- does not prove: That anybody listened.
-- meaning: The password is sent in clear with every callback.
-- next: Ask the clients for https, and change the passwords.
SELECT 'a2a_push_notification_configs' AS subject, scheme || '://' || CASE WHEN host = '' THEN '(unreadable host)' ELSE left(host, 80) END AS place, min(created_sequence) AS first_seq, max(created_sequence) AS last_seq, count(*) AS records, count(*) || ' configuration(s) with Basic over http' AS detail
FROM audit.push_configs WHERE scheme = 'http' AND auth_scheme = 'basic' GROUP BY scheme, host, reach
ORDER BY subject, place, first_seq, last_seq, detail
