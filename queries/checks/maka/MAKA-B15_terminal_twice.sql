-- code: MAKA-B15
-- title: An invocation ended twice
-- severity: high
-- applies: maka sqlite 4-18
-- params: none
-- examines: audit.terminals
-- proves: It has more than one terminal.
-- does not prove: Which of them is true.
-- meaning: The Session view refuses the session; pages show the first ending only (V4).
-- next: Compare with a backup.
SELECT 'runtime_events' AS subject, invocation_id AS place, min(seq) AS first_seq, max(seq) AS last_seq, count(*) AS records,
    'session ' || min(session_id) || ': ' || count(*) || ' terminals' AS detail
FROM audit.terminals GROUP BY invocation_id HAVING count(*) > 1
ORDER BY subject, place, first_seq, last_seq, detail
