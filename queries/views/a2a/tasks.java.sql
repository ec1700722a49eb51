-- view: tasks
-- kind: table
-- about: one row a task of the Java SDK with what its JSON says beside the columns; a column that this version lacks is NULL. Times are microseconds since 1970.
-- applies: a2a postgres 20
WITH stored AS (
    SELECT * FROM raw.a2a_tasks
    UNION ALL BY NAME
    SELECT CAST(NULL AS VARCHAR) AS context_id, CAST(NULL AS VARCHAR) AS state, CAST(NULL AS VARCHAR) AS status_timestamp, CAST(NULL AS VARCHAR) AS finalized_at
    WHERE false
)
SELECT s.task_id, s.context_id, lower(replace(replace(s.state, 'TASK_STATE_', ''), '_', '-')) AS stored_state, p.payload_state AS state,
    epoch_us(TRY_CAST(s.status_timestamp AS TIMESTAMP)) AS stored_us, s.finalized_at IS NOT NULL AS finalized, p.* EXCLUDE (_row),
    -- What other families' tasks have too, under the same names.
    coalesce(p.ok, false) AS decodable, '' AS principal, '' AS agent_id, p.status_us // 1000000 AS updated_at,
    CASE WHEN p.payload_state IN ('submitted', 'working') THEN 'work' WHEN p.payload_state IN ('input-required', 'auth-required') THEN 'interrupted'
        WHEN p.payload_state IN ('completed', 'failed', 'canceled', 'rejected') THEN 'terminal' ELSE 'unknown' END AS class
FROM stored AS s LEFT JOIN source.java_tasks AS p ON p._row = s._row
