-- code: BUS-M01
-- title: The body of a call record is not what it must be
-- severity: high
-- applies: busbar sqlite 7-12, busbar postgres 10-11
-- params: none
-- examines: audit.calls
-- proves: The body is no JSON object with exactly the known members.
-- does not prove: An edit: a newer gateway may add members.
-- meaning: The gateway cannot read the record at its start, and its digest may be unprovable.
-- next: Look at the row; restore it from a backup if it was damaged.
SELECT population AS subject, scope AS place, min(seq) AS first_seq, max(seq) AS last_seq, count(*) AS records,
    count(*) || ' record(s): ' || count(*) FILTER (NOT decodable) || ' unreadable, ' || count(*) FILTER (decodable) || ' with members missing or added' AS detail
FROM audit.calls WHERE NOT members
GROUP BY population, scope
ORDER BY subject, place, first_seq, last_seq, detail
