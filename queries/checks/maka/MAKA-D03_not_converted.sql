-- code: MAKA-D03
-- title: A turn that the conversion left out
-- severity: high
-- applies: maka sqlite 8-18
-- params: none
-- examines: audit.legacy_rows
-- proves: The session counts as converted, a message of the user is among its rows, and no run of the turn is in the transcript.
-- does not prove: Why: the rows are still there.
-- meaning: The application no longer shows the turn.
-- next: Keep session_messages; the turn is there.
SELECT 'session_messages' AS subject, r.session_id AS place, min(r.sequence) AS first_seq, max(r.sequence) AS last_seq, count(*) AS records,
    'turn ' || r.turn_id AS detail
FROM audit.legacy_rows AS r SEMI JOIN (SELECT * FROM audit.sessions WHERE ledger_version = 1) AS s ON s.session_id = r.session_id
    ANTI JOIN audit.import_invocations AS i ON i.session_id = r.session_id AND i.turn_id = r.turn_id
WHERE r.type = 'user' AND r.steering_event IS NULL AND r.turn_id IS NOT NULL AND r.session_id <> 'maka_workhub_coordination'
GROUP BY r.session_id, r.turn_id
ORDER BY subject, place, first_seq, last_seq, detail
