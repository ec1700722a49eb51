-- code: A2A-L05
-- title: An idle session holds the lock of a task
-- severity: medium
-- applies: a2a postgres 13-14
-- params: none
-- examines: source.relations
-- proves: An advisory lock with the key of an existing task is held by a session that is idle in its transaction.
-- does not prove: Anything about other moments: locks are read as they are, not as of the snapshot. A role without
--   pg_read_all_stats does not see what sessions of others do, and finds nothing here.
-- meaning: Creators and deleters of this task wait without a time limit.
-- next: End the session, and set idle_in_transaction_session_timeout for its role.
SELECT 'a2a_tasks' AS subject, task_id AS place, CAST(NULL AS BIGINT) AS first_seq, CAST(NULL AS BIGINT) AS last_seq, 1 AS records, CASE WHEN exclusive THEN 'exclusive' ELSE 'shared' END || ' lock'
    || coalesce(', idle for ' || idle_seconds || ' seconds', '') || CASE WHEN waited_for THEN ', somebody waits' ELSE '' END AS detail
FROM source.advisory_locks WHERE task_id IS NOT NULL AND holder_idle
ORDER BY subject, place, first_seq, last_seq, detail
