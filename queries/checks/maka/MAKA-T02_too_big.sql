-- code: MAKA-T02
-- title: A turn of more bytes than a page reads
-- severity: high
-- applies: maka sqlite 4-18
-- params: none
-- examines: audit.ledger_events
-- proves: The payloads of an invocation are more than 16 MiB.
-- does not prove: A loss.
-- meaning: Every page that reaches the turn fails in builds with this limit.
-- next: Open it with a build whose limit is per record.
SELECT 'runtime_events' AS subject, invocation_id AS place, min(seq) AS first_seq, max(seq) AS last_seq, count(*) AS records,
    'session ' || min(session_id) || ': ' || sum(bytes) || ' bytes' AS detail
FROM audit.ledger_events GROUP BY invocation_id HAVING sum(bytes) > 16777216
ORDER BY subject, place, first_seq, last_seq, detail
