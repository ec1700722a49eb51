-- code: MAKA-T01
-- title: A turn of more events than a page reads
-- severity: high
-- applies: maka sqlite 4-18
-- params: none
-- examines: audit.ledger_events
-- proves: An invocation has more than 8,192 events.
-- does not prove: A loss.
-- meaning: Every page that reaches the turn fails.
-- next: Open it with a build whose pages read runs, not turns.
SELECT 'runtime_events' AS subject, invocation_id AS place, min(seq) AS first_seq, max(seq) AS last_seq, count(*) AS records,
    'session ' || min(session_id) || ': ' || count(*) || ' events' AS detail
FROM audit.ledger_events GROUP BY invocation_id HAVING count(*) > 8192
ORDER BY subject, place, first_seq, last_seq, detail
