-- effect: purge_orphans
-- about: push configurations that would stay without their task.
WITH gone AS (
    SELECT verb, scope FROM source.purge_rows WHERE population = 'a2a_tasks'
), taken AS (
    SELECT verb, key FROM source.purge_rows WHERE population = 'a2a_push_notification_configs'
)
SELECT g.verb, 'a2a_push_notification_configs' AS subject, c.task_id AS place, count(*) AS rows, 'configurations without their task' AS what
FROM gone AS g JOIN audit.push_configs AS c ON c.task_id = g.scope
ANTI JOIN taken AS x ON x.verb = g.verb AND x.key = [c.task_id, c.config_id]
GROUP BY ALL
ORDER BY g.verb, subject, place
