-- code: BUS-C15
-- title: Two histories of the admin audit
-- severity: critical
-- applies: busbar sqlite 10-12, busbar postgres 10-11
-- params: none
-- examines: audit.admin_audit
-- proves: A record of audit_log and the record of the same number in kind audit carry different hashes.
-- does not prove: Which of the two is true.
-- meaning: One of the two histories was rewritten.
-- next: Keep both; compare them with a backup from before the upgrade.
SELECT 'audit' AS subject, 'admin' AS place, min(p.seq) AS first_seq, max(p.seq) AS last_seq, count(DISTINCT p.seq) AS records,
    count(DISTINCT p.seq) || ' record(s) differ from those of the same number in audit_log' AS detail
FROM audit.admin_audit AS p JOIN audit.admin_audit AS l ON l.population = 'audit_log' AND l.seq = p.seq
WHERE p.population = 'audit' AND p.scope = 'admin' AND p.hash <> l.hash
HAVING count(*) > 0
ORDER BY subject, place, first_seq, last_seq, detail
