-- code: MAKA-B30
-- title: A permission answer without its canonical outcome
-- severity: high
-- applies: maka sqlite 11-18
-- params: none
-- examines: audit.ledger_events
-- proves: No outcome of the request is there.
-- does not prove: What was answered.
-- meaning: The session becomes unreadable; a partial copy of the database does the same (V19).
-- next: Restore core_interaction_outcomes from the same backup as the ledger.
SELECT 'runtime_events' AS subject, e.event_id AS place, e.seq AS first_seq, e.seq AS last_seq, 1 AS records,
    'session ' || e.session_id || ', request ' || e.answered_request AS detail
FROM audit.ledger_events AS e ANTI JOIN raw.core_interaction_outcomes AS o ON o.request_id = e.answered_request
WHERE e.answered_request IS NOT NULL
ORDER BY subject, place, first_seq, last_seq, detail
