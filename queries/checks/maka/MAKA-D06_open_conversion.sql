-- code: MAKA-D06
-- title: A converted turn that never ended
-- severity: high
-- applies: maka sqlite 16-18
-- params: none
-- examines: audit.openings
-- proves: The run is open though its session counts as converted.
-- does not prove: What is missing.
-- meaning: Half a turn for ever: nothing will finish it.
-- next: Restore the turn from session_messages.
SELECT 'openings' AS subject, o.run_id AS place, CAST(NULL AS BIGINT) AS first_seq, CAST(NULL AS BIGINT) AS last_seq, 1 AS records,
    'session ' || o.session_id || ', turn ' || o.turn_id AS detail
FROM audit.openings AS o SEMI JOIN (SELECT * FROM audit.sessions WHERE ledger_version = 1) AS s ON s.session_id = o.session_id
    ANTI JOIN audit.terminals AS t ON t.invocation_id = o.invocation_id
WHERE starts_with(o.run_id, 'transcript-')
ORDER BY subject, place, first_seq, last_seq, detail
