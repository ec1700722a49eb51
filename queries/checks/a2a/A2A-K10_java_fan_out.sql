-- code: A2A-K10
-- title: More configurations for a task than the Java SDK allows by itself
-- severity: low
-- applies: a2a postgres 20
-- params: most hugeint = 100
-- examines: audit.push_configs
-- proves: A task has more configurations than the limit.
-- does not prove: That they are unwanted: the limit can be set.
-- meaning: Each change of the task is sent that often.
-- next: Ask the client that made them.
SELECT 'a2a_push_notification_configs' AS subject, task_id AS place, CAST(NULL AS BIGINT) AS first_seq, CAST(NULL AS BIGINT) AS last_seq, count(*) AS records,
    count(*) || ' configurations' AS detail
FROM audit.push_configs GROUP BY task_id HAVING count(*) > $most
ORDER BY subject, place, first_seq, last_seq, detail
