-- code: BUS-M05
-- title: A tool was called without a digest of its schema
-- severity: low
-- applies: busbar sqlite 7-12, busbar postgres 10-11
-- params: none
-- examines: audit.calls
-- proves: A dispatched call has no tool_digest.
-- does not prove: A fault: it is legal where the operator approved none.
-- meaning: The tool could change its schema unseen.
-- next: Approve schema digests for these tools.
SELECT population AS subject, scope AS place, min(seq) AS first_seq, max(seq) AS last_seq, count(*) AS records,
    count(*) || ' dispatched call(s) without tool_digest' AS detail
FROM audit.calls WHERE decodable AND outcome = 'dispatched' AND tool_digest = ''
GROUP BY population, scope
ORDER BY subject, place, first_seq, last_seq, detail
