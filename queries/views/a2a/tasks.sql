-- view: tasks
-- kind: table
-- about: one row a task with what its payload says beside the columns; a column that the generation lacks is NULL. state: in words, the number beside it. class: what
--   its state is to the SDK (work, interrupted, terminal, unspecified, unknown). updated_at: unix seconds.
-- applies: a2a postgres 1-14
WITH stored AS (
    SELECT * FROM raw.a2a_tasks
    UNION ALL BY NAME
    SELECT CAST(NULL AS BIGINT) AS has_status_timestamp, CAST(NULL AS BIGINT) AS revision, CAST(NULL AS BIGINT) AS created_sequence
    WHERE false
)
SELECT s._row, s.id AS task_id, s.context_id, s.state AS state_number, s.has_status_timestamp, s.status_seconds, s.status_nanos, s.revision, s.created_sequence,
    audit.server_seconds(s.updated_at) AS updated_at,
    CASE WHEN s.state IN (1, 2) THEN 'work' WHEN s.state IN (6, 8) THEN 'interrupted' WHEN s.state IN (3, 4, 5, 7) THEN 'terminal'
        WHEN s.state = 0 THEN 'unspecified' ELSE 'unknown' END AS class,
    -- What other families' tasks have too, under the same names.
    CASE WHEN s.state BETWEEN 0 AND 8 THEN ['unspecified', 'submitted', 'working', 'completed', 'failed', 'canceled', 'input-required', 'rejected',
        'auth-required'][s.state + 1] ELSE 'number ' || s.state END AS state,
    coalesce(p.ok, false) AS decodable, '' AS principal, '' AS agent_id,
    p.* EXCLUDE (_row)
FROM stored AS s LEFT JOIN source.task_payloads AS p ON p._row = s._row
