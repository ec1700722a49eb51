-- code: MAKA-D18
-- title: Rows that an older build wrote after the conversion
-- severity: low
-- applies: maka sqlite 8-18
-- params: none
-- examines: audit.legacy_rows
-- proves: Their turn is not in the ledger, and they are later than all that is.
-- does not prove: A loss: the rows are there.
-- meaning: Nothing will convert them; the application no longer shows them.
-- next: Keep session_messages; say so to the user.
WITH latest AS (SELECT session_id, max(committed_at) AS at FROM audit.ledger_events GROUP BY session_id)
SELECT 'session_messages' AS subject, r.session_id AS place, min(r.sequence) AS first_seq, max(r.sequence) AS last_seq, count(*) AS records,
    count(*) || ' row(s) of ' || count(DISTINCT r.turn_id) || ' turn(s)' AS detail
FROM audit.legacy_rows AS r SEMI JOIN (SELECT * FROM audit.sessions WHERE ledger_version = 1) AS s ON s.session_id = r.session_id
    JOIN latest AS l ON l.session_id = r.session_id AND r.message_ts > l.at
    ANTI JOIN audit.ledger_events AS e ON e.session_id = r.session_id AND e.turn_id = r.turn_id
WHERE r.session_id <> 'maka_workhub_coordination' AND r.type IN ('user', 'assistant', 'tool_call', 'tool_result', 'permission_decision', 'token_usage', 'turn_state')
GROUP BY r.session_id HAVING bool_or(r.type IN ('user', 'assistant', 'tool_call', 'tool_result'))
ORDER BY subject, place, first_seq, last_seq, detail
