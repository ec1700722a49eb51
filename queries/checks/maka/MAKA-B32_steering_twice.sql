-- code: MAKA-B32
-- title: A steering message is stored twice
-- severity: high
-- applies: maka sqlite 4-18
-- params: none
-- examines: audit.ledger_events
-- proves: Two steering texts of a session have one provider event.
-- does not prove: That they differ.
-- meaning: One steered message is shown twice.
-- next: Compare with a backup.
SELECT 'runtime_events' AS subject, session_id AS place, CAST(NULL AS BIGINT) AS first_seq, CAST(NULL AS BIGINT) AS last_seq, count(*) AS records,
    count(*) || ' texts of message ' || provider_event_id AS detail
FROM audit.ledger_events WHERE content_kind = 'text' AND steering AND provider_event_id IS NOT NULL
GROUP BY session_id, provider_event_id HAVING count(*) > 1
ORDER BY subject, place, first_seq, last_seq, detail
