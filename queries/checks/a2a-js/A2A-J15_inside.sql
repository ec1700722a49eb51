-- code: A2A-J15
-- title: Callbacks into private networks
-- severity: high
-- applies: a2a-js postgres 1, a2a-js sqlite 1
-- params: none
-- examines: audit.push_configs
-- proves: The host is this host, a private or link-local address, a metadata service, a name without a dot, or an internal
--   one. Only a metadata service is high.
-- does not prove: Misuse: inside deployments do so on purpose.
-- meaning: Whoever may create configurations makes the server call inside its network.
-- next: Reject such hosts before they are stored.
SELECT 'push_notification_configs' AS subject, scheme || '://' || CASE WHEN host = '' THEN '(unreadable host)' ELSE left(host, 80) END AS place, CAST(NULL AS BIGINT) AS first_seq, CAST(NULL AS BIGINT) AS last_seq, count(*) AS records, count(*) || ' configuration(s): ' || reach AS detail,
    CASE WHEN reach = 'metadata' THEN 'high' ELSE 'info' END AS severity
FROM audit.push_configs WHERE form = 'json' AND reach NOT IN ('public', 'unreadable') GROUP BY scheme, host, reach
ORDER BY subject, place, first_seq, last_seq, detail
