-- code: MAKA-B07
-- title: An invocation holds events of several sessions, runs or turns
-- severity: high
-- applies: maka sqlite 4-18
-- params: none
-- examines: audit.ledger_events
-- proves: Its events name more than one.
-- does not prove: Which belong together.
-- meaning: Every append to it is refused.
-- next: Compare with a backup.
SELECT 'runtime_events' AS subject, invocation_id AS place, min(seq) AS first_seq, max(seq) AS last_seq, count(*) AS records,
    count(DISTINCT session_id) || ' session(s), ' || count(DISTINCT run_id) || ' run(s), ' || count(DISTINCT turn_id) || ' turn(s)' AS detail
FROM audit.ledger_events GROUP BY invocation_id HAVING count(DISTINCT session_id) > 1 OR count(DISTINCT run_id) > 1 OR count(DISTINCT turn_id) > 1
ORDER BY subject, place, first_seq, last_seq, detail
