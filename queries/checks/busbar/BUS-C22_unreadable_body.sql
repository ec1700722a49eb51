-- code: BUS-C22
-- title: The body of a task event or audit record cannot be read
-- severity: high
-- applies: busbar sqlite 10-12
-- params: none
-- examines: audit.plane_chain
-- proves: The body is no JSON object of the known form, so no digest can be recomputed.
-- does not prove: An edit: a newer gateway may write another form.
-- meaning: The record and what follows it cannot be verified.
-- next: Look at the row; restore it from a backup if it was damaged.
SELECT population AS subject, scope AS place, min(seq) AS first_seq, max(seq) AS last_seq, count(*) AS records,
    count(*) || ' record(s) whose body is no object of the known form' AS detail
FROM audit.plane_chain WHERE NOT decodable AND population <> 'call'
GROUP BY population, scope
ORDER BY subject, place, first_seq, last_seq, detail
