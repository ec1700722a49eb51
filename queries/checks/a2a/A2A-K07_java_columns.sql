-- code: A2A-K07
-- title: Columns of the Java SDK differ from the JSON beside them
-- severity: high
-- applies: a2a postgres 20
-- params: none
-- examines: audit.tasks
-- proves: Context, state, or the status time to the millisecond is not what the JSON says. A column that is NULL is left out: rows from
--   before the column have none.
-- does not prove: Which of the two is right.
-- meaning: Lists are filtered and ordered by what the task is not.
-- next: Write the task again through the SDK.
WITH told AS (
    SELECT task_id, concat_ws(', ', CASE WHEN context_id <> payload_context_id THEN 'context_id' END,
        CASE WHEN stored_state <> state AND state <> 'unknown' AND NOT (state = 'unspecified' AND stored_state IN ('unknown', 'unrecognized')) THEN 'state' END,
        CASE WHEN abs(stored_us // 1000 - status_us // 1000) > 0 THEN 'status_timestamp' END) AS differing
    FROM audit.tasks WHERE ok
)
SELECT 'a2a_tasks' AS subject, task_id AS place, CAST(NULL AS BIGINT) AS first_seq, CAST(NULL AS BIGINT) AS last_seq, 1 AS records,
    'other than in the JSON: ' || differing AS detail
FROM told WHERE differing <> ''
ORDER BY subject, place, first_seq, last_seq, detail
