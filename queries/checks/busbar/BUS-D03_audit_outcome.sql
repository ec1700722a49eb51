-- code: BUS-D03
-- title: An admin audit outcome that is not known
-- severity: medium
-- applies: busbar sqlite 5-12, busbar postgres 6-11
-- params: none
-- examines: audit.admin_audit
-- proves: The outcome is none of applied, rejected, degraded.
-- does not prove: Tampering: a newer gateway may have more.
-- meaning: The record was edited, or a newer gateway wrote it.
-- next: Compare with a backup.
SELECT population AS subject, scope AS place, min(seq) AS first_seq, max(seq) AS last_seq, count(*) AS records,
    count(*) || ' record(s) with the outcome ' || left(string_agg(DISTINCT left(outcome, 40), ', ' ORDER BY left(outcome, 40)), 120) AS detail
FROM audit.admin_audit WHERE decodable AND outcome NOT IN ('applied', 'rejected', 'degraded')
GROUP BY population, scope
ORDER BY subject, place, first_seq, last_seq, detail
