-- view: event_fields
-- kind: part
-- about: one row a task event of the typed table.
-- applies: busbar sqlite 8-12
SELECT 'task_events' AS population, task_id AS scope, task_id, seq, CAST(ts AS HUGEINT) AS ts, kind, context_id, principal, agent_id,
    state, request_id, prev_hash, hash, CAST(NULL AS VARCHAR) AS digest_version,
    (task_id IS NOT NULL AND seq IS NOT NULL AND ts IS NOT NULL AND kind IS NOT NULL AND context_id IS NOT NULL AND principal IS NOT NULL
        AND agent_id IS NOT NULL AND state IS NOT NULL AND prev_hash IS NOT NULL AND hash IS NOT NULL) AS decodable,
    CAST(seq AS HUGEINT) AS digest_seq, CAST(ts AS HUGEINT) AS digest_ts, _row AS row
FROM raw.task_events
