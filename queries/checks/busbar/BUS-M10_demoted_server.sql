-- code: BUS-M10
-- title: A demoted server still served
-- severity: high
-- applies: busbar sqlite 9-12, busbar postgres 10-11
-- params: grace hugeint = 0
-- examines: audit.calls
-- proves: A call was dispatched to a server after its demotion was recorded, and the demotion still stands.
-- does not prove: That the tool was harmful.
-- meaning: The quarantine was not enforced.
-- next: Find the node that did not learn of it; look at what these calls returned.
SELECT c.population AS subject, c.scope AS place, min(c.seq) AS first_seq, max(c.seq) AS last_seq, count(*) AS records,
    count(*) || ' call(s) dispatched to ' || left(d.server, 60) || ' after its demotion at ' || d.recorded_at AS detail
FROM audit.calls AS c JOIN audit.demotions AS d ON d.server = c.server
WHERE c.outcome = 'dispatched' AND c.ts > d.recorded_at + $grace
GROUP BY c.population, c.scope, d.server, d.recorded_at
ORDER BY subject, place, first_seq, last_seq, detail
