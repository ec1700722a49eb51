-- code: A2A-S01
-- title: Callbacks over http
-- severity: high
-- applies: a2a postgres 1-14
-- params: none
-- examines: audit.push_configs
-- proves: The URL's scheme is http. Where no credentials are sent with it, it is info.
-- does not prove: That anybody listened.
-- meaning: Results of tasks, and the Authorization header where there is one, are sent in clear.
-- next: Ask the clients for https.
SELECT 'a2a_push_notification_configs' AS subject, scheme || '://' || CASE WHEN host = '' THEN '(unreadable host)' ELSE left(host, 80) END AS place, min(created_sequence) AS first_seq, max(created_sequence) AS last_seq, count(*) AS records, count(*) || ' configuration(s) over http, ' || count(*) FILTER (credentials) || ' of them with credentials' AS detail,
    CASE WHEN bool_or(credentials) THEN 'high' ELSE 'info' END AS severity
FROM audit.push_configs WHERE scheme = 'http' GROUP BY scheme, host, reach
ORDER BY subject, place, first_seq, last_seq, detail
