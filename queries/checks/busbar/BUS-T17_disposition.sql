-- code: BUS-T17
-- title: The row of a task tells retention something else than the task
-- severity: critical
-- applies: busbar sqlite 10-12, busbar postgres 10-11
-- params: none
-- examines: audit.tasks
-- proves: disposition or ts of the row differ from state and updated_at of the task in it.
-- does not prove: Who changed which. Where only the time is later, or a finished task stays active, nothing is lost;
--   that is high.
-- meaning: A live task marked terminal, or with an earlier time, is deleted by the next purge.
-- next: Do not purge tasks until the row is right; compare it with a backup.
WITH differing AS (
    SELECT population, task_id, state, disposition, row_ts, updated_at,
        (disposition = 'terminal') <> (class = 'terminal') AS wrong_disposition, row_ts <> updated_at AS wrong_ts
    FROM audit.tasks WHERE era = 'plane' AND decodable
)
SELECT population AS subject, task_id AS place, CAST(NULL AS BIGINT) AS first_seq, CAST(NULL AS BIGINT) AS last_seq, 1 AS records,
    concat_ws('; ', CASE WHEN wrong_disposition THEN 'marked ' || disposition || ', the state is ' || left(state, 40) END,
        CASE WHEN wrong_ts THEN 'ts ' || row_ts || ', updated_at ' || updated_at END) AS detail,
    CASE WHEN (wrong_disposition AND disposition = 'terminal') OR row_ts < updated_at THEN 'critical' ELSE 'high' END AS severity
FROM differing WHERE wrong_disposition OR wrong_ts
ORDER BY subject, place, first_seq, last_seq, detail
