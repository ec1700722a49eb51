-- code: A2A-S06
-- title: One secret for many tasks
-- severity: info
-- applies: a2a postgres 1-14
-- params: none
-- examines: audit.push_configs
-- proves: The same token or credential stands in configurations of several tasks, and of several hosts.
-- does not prove: That it is wrong: one client may use one secret.
-- meaning: Who learns it can speak for all of them.
-- next: Ask for a secret of its own for each receiver.
WITH several AS (
    -- Nearly every secret stands once: only what stands several times is counted by task and host.
    SELECT secret_key FROM audit.push_configs WHERE secret_key IS NOT NULL GROUP BY secret_key HAVING count(*) > 1
),
shared AS (
    SELECT secret_key, min(created_sequence) AS first_seq, max(created_sequence) AS last_seq, count(*) AS n, count(DISTINCT task_id) AS tasks, count(DISTINCT host) AS hosts
    FROM audit.push_configs SEMI JOIN several USING (secret_key) GROUP BY secret_key HAVING count(DISTINCT task_id) > 1 AND count(DISTINCT host) > 1
)
SELECT 'a2a_push_notification_configs' AS subject, 'shared secrets' AS place, min(first_seq) AS first_seq, max(last_seq) AS last_seq, sum(n)::BIGINT AS records,
    count(*) || ' secret(s) in several tasks and hosts, the widest in ' || max(tasks) || ' tasks and ' || max(hosts) || ' hosts' AS detail
FROM shared HAVING count(*) > 0
ORDER BY subject, place, first_seq, last_seq, detail
