-- code: BUS-T06
-- title: A task does not begin as tasks begin
-- severity: medium
-- applies: busbar sqlite 8-12, busbar postgres 10-11
-- params: none
-- examines: audit.task_events
-- proves: The first event there is no submission, has another state, or another time than the row was made at.
-- does not prove: That a head was cut off: test data of the project begin so.
-- meaning: The beginning of the history is missing or was rewritten.
-- next: Compare with a backup. If these are test data, say so and accept the finding.
WITH heads AS (
    SELECT population, era, task_id, min(seq) AS seq, arg_min(kind, (seq, row)) AS kind, arg_min(state, (seq, row)) AS state,
        arg_min(ts, (seq, row)) AS ts, arg_min(decodable, (seq, row)) AS decodable
    FROM audit.task_events GROUP BY population, era, task_id
)
SELECT h.population AS subject, h.task_id AS place, h.seq AS first_seq, h.seq AS last_seq, 1 AS records,
    CASE WHEN h.seq > 1 THEN 'the first event there is number ' || h.seq
        WHEN h.kind <> 'task.submitted' OR h.state <> 'submitted' THEN 'the first event is ' || left(h.kind, 40) || ' with state ' || left(h.state, 40)
        ELSE 'the first event is of ' || h.ts || ', the row was made at ' || t.created_at END AS detail
FROM heads AS h LEFT JOIN audit.tasks AS t ON t.era = h.era AND t.task_id = h.task_id AND t.decodable
WHERE h.decodable AND (h.seq > 1 OR h.kind <> 'task.submitted' OR h.state <> 'submitted' OR h.ts <> t.created_at)
ORDER BY subject, place, first_seq, last_seq, detail
