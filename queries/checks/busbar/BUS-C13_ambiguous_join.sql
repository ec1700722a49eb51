-- code: BUS-C13
-- title: A field contains the bar that separates fields
-- severity: medium
-- applies: busbar sqlite 5-12
-- params: none
-- examines: audit.chain_records
-- proves: The digest of such a record does not bind where one field ends and the next begins.
-- does not prove: That fields were moved.
-- meaning: These records could be split differently without any digest changing.
-- next: Read them with that in mind; the same text in another column proves nothing here.
WITH barred AS (
    SELECT population, scope, seq FROM audit.audit_fields
    WHERE variant IN ('typed', 'legacy') AND contains(action || resource || outcome || principal, '|')
    UNION ALL
    SELECT population, scope, seq FROM audit.event_fields
    WHERE digest_version IS DISTINCT FROM '2' AND contains(task_id || kind || context_id || principal || agent_id || state, '|')
)
SELECT population AS subject, scope AS place, min(seq) AS first_seq, max(seq) AS last_seq, count(*) AS records,
    count(*) || ' record(s) with a bar inside a digested field' AS detail
FROM barred GROUP BY population, scope
ORDER BY subject, place, first_seq, last_seq, detail
