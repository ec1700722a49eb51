-- code: MAKA-B25
-- title: A tool result without its call
-- severity: info
-- applies: maka sqlite 4-18
-- params: none
-- examines: audit.ledger_events
-- proves: No call of that tool use is in the turn.
-- does not prove: A loss: converted turns may have such results.
-- meaning: Legal when converted and hidden; else a call was lost.
-- next: Look whether the turn was converted.
SELECT 'runtime_events' AS subject, r.event_id AS place, r.seq AS first_seq, r.seq AS last_seq, 1 AS records,
    'session ' || r.session_id || ', tool use ' || coalesce(r.tool_use_id, '') AS detail
FROM audit.ledger_events AS r ANTI JOIN (SELECT * FROM audit.ledger_events WHERE content_kind = 'function_call') AS c
    ON c.session_id = r.session_id AND c.turn_id = r.turn_id AND c.tool_use_id = r.tool_use_id
WHERE r.content_kind = 'function_response'
ORDER BY subject, place, first_seq, last_seq, detail
