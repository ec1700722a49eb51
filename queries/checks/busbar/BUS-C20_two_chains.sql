-- code: BUS-C20
-- title: A principal has a call chain of either time
-- severity: low
-- applies: busbar sqlite 10-12
-- params: none
-- examines: audit.calls
-- proves: The principal has records in mcp_calls and in the plane records.
-- does not prove: A restart that should not be: one is expected at the upgrade to generation 10.
-- meaning: The chain began again at 1 at the upgrade; both ranges belong together by time.
-- next: Join both ranges by time when counting calls.
SELECT 'call' AS subject, o.principal AS place, n.first_seq, n.last_seq, o.records + n.records AS records,
    'mcp_calls ' || o.first_seq || ' to ' || o.last_seq || ', then kind call ' || n.first_seq || ' to ' || n.last_seq AS detail
FROM (SELECT scope AS principal, min(seq) AS first_seq, max(seq) AS last_seq, count(*) AS records FROM audit.calls WHERE population = 'mcp_calls' GROUP BY scope) AS o
JOIN (SELECT scope AS principal, min(seq) AS first_seq, max(seq) AS last_seq, count(*) AS records FROM audit.calls WHERE population = 'call' GROUP BY scope) AS n
    ON n.principal = o.principal
ORDER BY subject, place, first_seq, last_seq, detail
