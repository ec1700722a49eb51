-- code: MAKA-B08
-- title: A run holds events of several invocations or turns
-- severity: high
-- applies: maka sqlite 4-18
-- params: none
-- examines: audit.ledger_events
-- proves: Its events name more than one.
-- does not prove: Which belong together.
-- meaning: Every append to it is refused; a conversion that another build began cannot be finished.
-- next: Compare with a backup.
SELECT 'runtime_events' AS subject, session_id || ' / ' || run_id AS place, min(seq) AS first_seq, max(seq) AS last_seq, count(*) AS records,
    count(DISTINCT invocation_id) || ' invocation(s), ' || count(DISTINCT turn_id) || ' turn(s)' AS detail
FROM audit.ledger_events GROUP BY session_id, run_id HAVING count(DISTINCT invocation_id) > 1 OR count(DISTINCT turn_id) > 1
ORDER BY subject, place, first_seq, last_seq, detail
