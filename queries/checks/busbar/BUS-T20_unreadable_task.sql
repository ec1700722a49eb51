-- code: BUS-T20
-- title: A task cannot be read
-- severity: high
-- applies: busbar sqlite 10-12, busbar postgres 10-11
-- params: none
-- examines: audit.tasks
-- proves: The body of a task record is not the JSON object of ten members that a task is.
-- does not prove: An edit: a newer gateway may write another form.
-- meaning: The gateway drops the task at its start, and no other check can judge it.
-- next: Look at the row; look for BUSBAR-7024 and BUSBAR-7025 in the gateway log; restore it from a backup.
SELECT population AS subject, coalesce(task_id, '') AS place, CAST(NULL AS BIGINT) AS first_seq, CAST(NULL AS BIGINT) AS last_seq, 1 AS records, 'the body cannot be read as a task' AS detail
FROM audit.tasks WHERE era = 'plane' AND NOT decodable
ORDER BY subject, place, first_seq, last_seq, detail
