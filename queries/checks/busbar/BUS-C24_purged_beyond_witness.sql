-- code: BUS-C24
-- title: The head of a chain was removed beyond what was witnessed
-- severity: low
-- applies: busbar sqlite 5-12, busbar postgres 6-11
-- params: none
-- needs: --witness
-- examines: audit.witnessed
-- proves: The first record now there comes after the witnessed one and does not link to it: records nobody ever witnessed are gone.
-- does not prove: That they were removed wrongly; a purge between two runs does this when they are further apart than its age.
-- meaning: What was in between cannot be proven.
-- next: Run the audit with the witness more often than the purge's age.
SELECT population AS subject, scope AS place, last_seq + 1 AS first_seq, now_first_seq - 1 AS last_seq, now_first_seq - 1 - last_seq AS records,
    'the chain begins at ' || now_first_seq || ', witnessed up to ' || last_seq AS detail,
    CASE WHEN population IN ('audit_log', 'audit') THEN 'critical' ELSE 'low' END AS severity
FROM audit.witnessed WHERE standing = 'passed'
ORDER BY subject, place, first_seq, last_seq, detail
