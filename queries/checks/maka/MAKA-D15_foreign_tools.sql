-- code: MAKA-D15
-- title: Tool protocol of another system in a converted session
-- severity: low
-- applies: maka sqlite 11-18
-- params: none
-- examines: audit.ledger_events
-- proves: An imported session's converted run has tool or thinking events.
-- does not prove: Harm.
-- meaning: The model's history holds a protocol that is not its own.
-- next: Look at which build converted it.
SELECT 'runtime_events' AS subject, e.run_id AS place, min(e.seq) AS first_seq, max(e.seq) AS last_seq, count(*) AS records,
    'session ' || e.session_id || ': ' || count(*) || ' event(s)' AS detail
FROM audit.ledger_events AS e SEMI JOIN (SELECT * FROM audit.sessions WHERE foreign_origin) AS s ON s.session_id = e.session_id
WHERE starts_with(e.run_id, 'transcript-') AND e.content_kind IN ('function_call', 'function_response', 'thinking') GROUP BY e.session_id, e.run_id
ORDER BY subject, place, first_seq, last_seq, detail
