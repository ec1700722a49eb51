-- code: MAKA-D06
-- title: A converted turn that never ended
-- severity: high
-- applies: maka sqlite 11-18
-- params: none
-- examines: audit.openings
-- proves: Its session counts as converted, and its run has no ending.
-- does not prove: What is missing of it.
-- meaning: Half a turn for ever: an early converter was killed and skips the turn since.
-- next: Restore the turn from the rows of session_messages.
SELECT 'openings' AS subject, o.run_id AS place, c.first_lost AS first_seq, c.last_lost AS last_seq, greatest(coalesce(c.lost, 0), 1) AS records,
    'session ' || o.session_id || ', turn ' || o.turn_id || coalesce(': ' || c.lost || ' row(s) not converted; ' || c.generation || ', ' || c.shape || ': ' || c.cause, '') AS detail
FROM audit.openings AS o SEMI JOIN (SELECT * FROM audit.sessions WHERE ledger_version = 1) AS s ON s.session_id = o.session_id
    ANTI JOIN audit.terminals AS t ON t.invocation_id = o.invocation_id
    LEFT JOIN audit.import_causes AS c ON c.session_id = o.session_id AND c.turn_id = o.turn_id
WHERE starts_with(o.run_id, 'transcript-')
ORDER BY subject, place, first_seq, last_seq, detail
