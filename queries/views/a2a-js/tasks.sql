-- view: tasks
-- kind: table
-- about: one row a task with what its status says. status_last_updated: milliseconds since 1970, 0 where the status has no time; other times are microseconds.
-- applies: a2a-js postgres 1, a2a-js sqlite 1
SELECT s._rejected AS rejected, s.tenant, s.owner, s.id AS task_id, s.context_id, s.status_state, s.status_last_updated, s.protocol_version,
    s.status_last_updated * 1000 AS updated_us, p.* EXCLUDE (_row),
    -- What other families' tasks have too, under the same names.
    coalesce(p.ok, false) AS decodable, s.owner AS principal, '' AS agent_id, nullif(s.status_last_updated, 0) // 1000 AS updated_at,
    CASE WHEN p.state IN ('submitted', 'working') THEN 'work' WHEN p.state IN ('input-required', 'auth-required') THEN 'interrupted'
        WHEN p.state IN ('completed', 'failed', 'canceled', 'rejected') THEN 'terminal' ELSE 'unknown' END AS class
FROM raw.tasks AS s LEFT JOIN source.js_tasks AS p ON p._row = s._row
