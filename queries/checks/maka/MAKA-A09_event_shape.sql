-- code: MAKA-A09
-- title: An event is not of the exact shape that readers accept
-- severity: high
-- applies: maka sqlite 4-18
-- params: none
-- examines: audit.ledger_events
-- proves: It has a member, kind or word that is not known, or lacks one.
-- does not prove: That a newer version would refuse it, too.
-- meaning: The application refuses to read the run.
-- next: See whether a newer build wrote it; else restore it from a backup.
SELECT 'runtime_events' AS subject, event_id AS place, seq AS first_seq, seq AS last_seq, 1 AS records,
    'session ' || session_id || ', ' || problems || ' problem(s), the first: ' || problem AS detail
FROM audit.ledger_events
WHERE valid AND problems > 0 AND NOT (problem LIKE 'partial:%') AND NOT (opening_problem IS NOT NULL AND problem LIKE 'content%')
ORDER BY subject, place, first_seq, last_seq, detail
