-- code: BUS-C22
-- title: An audit record or task event cannot be read
-- severity: high
-- applies: busbar sqlite 5-12, busbar postgres 6-11
-- params: none
-- examines: audit.chain_records
-- proves: The record is not of the known form, so its digest cannot be recomputed. Calls of that kind are BUS-M01.
-- does not prove: An edit: a newer gateway may write another form.
-- meaning: The record and the link to it cannot be verified.
-- next: Look at the row; restore it from a backup if it was damaged.
SELECT e.population AS subject, e.scope AS place, e.first_seq, e.last_seq, e.records,
    e.records || ' record(s) that cannot be read' AS detail
FROM audit.chain_extents AS e
WHERE e.about = 'undecodable' AND e.population NOT IN ('mcp_calls', 'call')
ORDER BY subject, place, first_seq, last_seq, detail
