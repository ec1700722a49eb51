-- code: A2A-J14
-- title: Callbacks over http
-- severity: high
-- applies: a2a-js postgres 1, a2a-js sqlite 1
-- params: none
-- examines: audit.push_configs
-- proves: The URL's scheme is http. Where no token or credentials are sent with it, it is info.
-- does not prove: That anybody listened.
-- meaning: Results of tasks, and secrets where there are some, are sent in clear.
-- next: Ask the clients for https.
SELECT 'push_notification_configs' AS subject, scheme || '://' || CASE WHEN host = '' THEN '(unreadable host)' ELSE left(host, 80) END AS place, CAST(NULL AS BIGINT) AS first_seq, CAST(NULL AS BIGINT) AS last_seq, count(*) AS records, count(*) || ' configuration(s) over http, ' || count(*) FILTER (token OR credentials) || ' of them with secrets' AS detail,
    CASE WHEN bool_or(token OR credentials) THEN 'high' ELSE 'info' END AS severity
FROM audit.push_configs WHERE form = 'json' AND scheme = 'http' GROUP BY scheme, host, reach
ORDER BY subject, place, first_seq, last_seq, detail
