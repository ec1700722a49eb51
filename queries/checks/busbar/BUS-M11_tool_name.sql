-- code: BUS-M11
-- title: A tool is not of the server it is booked on
-- severity: medium
-- applies: busbar sqlite 7-12, busbar postgres 10-11
-- params: none
-- examines: audit.calls
-- proves: The tool's name does not begin with the server's name and an underscore.
-- does not prove: An edit: another writer may name tools otherwise.
-- meaning: The record was edited, or a foreign program wrote it.
-- next: Compare with the tools of that server.
SELECT population AS subject, scope AS place, min(seq) AS first_seq, max(seq) AS last_seq, count(*) AS records,
    count(*) || ' call(s) whose tool does not carry the name of its server' AS detail
FROM audit.calls WHERE decodable AND server <> '' AND NOT starts_with(tool, server || '_')
GROUP BY population, scope
ORDER BY subject, place, first_seq, last_seq, detail
