-- view: tasks
-- kind: table
-- about: one row a task with what its status says; a column that the revision lacks is NULL. Times are microseconds since 1970.
-- applies: a2a-python postgres 1-4, a2a-python sqlite 1-4
WITH stored AS (
    SELECT * FROM raw.tasks
    UNION ALL BY NAME
    SELECT CAST(NULL AS VARCHAR) AS owner, CAST(NULL AS VARCHAR) AS last_updated, CAST(NULL AS VARCHAR) AS protocol_version WHERE false
)
SELECT s._rejected AS rejected, s.id AS task_id, s.context_id, s.owner, s.protocol_version, epoch_us(TRY_CAST(s.last_updated AS TIMESTAMP)) AS updated_us, p.* EXCLUDE (_row),
    -- What other families' tasks have too, under the same names.
    coalesce(p.ok, false) AS decodable, coalesce(s.owner, '') AS principal, '' AS agent_id, epoch(TRY_CAST(s.last_updated AS TIMESTAMP))::BIGINT AS updated_at,
    CASE WHEN p.state IN ('submitted', 'working') THEN 'work' WHEN p.state IN ('input-required', 'auth-required') THEN 'interrupted'
        WHEN p.state IN ('completed', 'failed', 'canceled', 'rejected') THEN 'terminal' ELSE 'unknown' END AS class
FROM stored AS s LEFT JOIN source.python_tasks AS p ON p._row = s._row
