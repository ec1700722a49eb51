-- code: A2A-K13
-- title: Callbacks that are never delivered
-- severity: medium
-- applies: a2a postgres 20
-- params: none
-- examines: audit.push_configs
-- proves: The URL's scheme is neither http nor https, or the text is no URL.
-- does not prove: That anybody misses them.
-- meaning: Delivery cannot work.
-- next: Ask the clients that made them.
SELECT 'a2a_push_notification_configs' AS subject, scheme || '://' || CASE WHEN host = '' THEN '(unreadable host)' ELSE left(host, 80) END AS place, CAST(NULL AS BIGINT) AS first_seq, CAST(NULL AS BIGINT) AS last_seq, count(*) AS records, count(*) || ' configuration(s); the first is of task ' || left(min(task_id), 60) AS detail
FROM audit.push_configs WHERE form = 'json' AND scheme NOT IN ('http', 'https') GROUP BY scheme, host, reach
ORDER BY subject, place, first_seq, last_seq, detail
