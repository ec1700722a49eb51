-- code: A2A-D18
-- title: Very many configurations for one task
-- severity: low
-- applies: a2a postgres 1-14
-- params: most hugeint = 100
-- examines: audit.push_configs
-- proves: One task has more configurations than the limit.
-- does not prove: That it is not wanted.
-- meaning: Every event of this task is delivered so often, one after the other.
-- next: Ask the client that makes them.
SELECT 'a2a_push_notification_configs' AS subject, task_id AS place, min(created_sequence) AS first_seq, max(created_sequence) AS last_seq, count(*) AS records, count(*) || ' configurations' AS detail FROM audit.push_configs GROUP BY task_id HAVING count(*) > $most
ORDER BY subject, place, first_seq, last_seq, detail
