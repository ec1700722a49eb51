-- code: BUS-C14
-- title: The copy of the admin audit is not whole
-- severity: high
-- applies: busbar sqlite 10-12, busbar postgres 10-11
-- params: none
-- examines: audit.admin_audit
-- proves: Kind audit has records, and records of audit_log are not among them.
-- does not prove: Deletion: a crash in the middle of the copy leaves the same, for ever, since it is never tried
--   again.
-- meaning: The gateway goes on from a history that lacks these records.
-- next: Keep audit_log: it still has them. Look for a stop of the gateway at its first start after the upgrade.
WITH copied AS (SELECT DISTINCT seq FROM audit.admin_audit WHERE population = 'audit' AND scope = 'admin'),
missing AS (
    SELECT l.seq FROM audit.admin_audit AS l ANTI JOIN copied AS c ON c.seq = l.seq
    WHERE l.population = 'audit_log' AND l.seq IS NOT NULL AND EXISTS (SELECT 1 FROM copied)
)
SELECT 'audit' AS subject, 'admin' AS place, min(seq) AS first_seq, max(seq) AS last_seq, count(*) AS records,
    count(*) || ' record(s) of audit_log are not in kind audit, which has ' || (SELECT count(*) FROM copied) AS detail
FROM missing HAVING count(*) > 0
ORDER BY subject, place, first_seq, last_seq, detail
