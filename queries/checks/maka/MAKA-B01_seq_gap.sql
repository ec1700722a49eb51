-- code: MAKA-B01
-- title: The numbers of an invocation's events are not 1 to n
-- severity: high
-- applies: maka sqlite 4-18
-- params: none
-- examines: audit.ledger_events
-- proves: A number is missing, or the first is not 1.
-- does not prove: When it was lost.
-- meaning: An event was removed from a stream that only grows; digests of continuations break.
-- next: Compare with a backup.
SELECT 'runtime_events' AS subject, invocation_id AS place, min(seq) AS first_seq, max(seq) AS last_seq, max(seq) - count(*) AS records,
    'session ' || min(session_id) || ': ' || count(*) || ' event(s) numbered ' || min(seq) || ' to ' || max(seq) AS detail
FROM audit.ledger_events GROUP BY invocation_id HAVING min(seq) <> 1 OR max(seq) <> count(*)
ORDER BY subject, place, first_seq, last_seq, detail
