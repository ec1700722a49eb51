-- code: A2A-S02
-- title: Callbacks that are never delivered
-- severity: medium
-- applies: a2a postgres 1-14
-- params: none
-- examines: audit.push_configs
-- proves: The URL's scheme is neither http nor https, or the text is no URL.
-- does not prove: That anybody misses them.
-- meaning: Delivery refuses every other scheme, and stops at the first callback that fails.
-- next: Ask the clients that made them.
SELECT 'a2a_push_notification_configs' AS subject, scheme || '://' || CASE WHEN host = '' THEN '(unreadable host)' ELSE left(host, 80) END AS place, min(created_sequence) AS first_seq, max(created_sequence) AS last_seq, count(*) AS records, count(*) || ' configuration(s); the first is of task ' || left(min(task_id), 60) AS detail
FROM audit.push_configs WHERE scheme NOT IN ('http', 'https') AND url_length > 0 GROUP BY scheme, host, reach
ORDER BY subject, place, first_seq, last_seq, detail
