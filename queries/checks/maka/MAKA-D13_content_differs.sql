-- code: MAKA-D13
-- title: A converted event does not say what its row says
-- severity: high
-- applies: maka sqlite 8-18
-- params: none
-- examines: audit.import_found
-- proves: The digest of what conversion keeps of the row is another than that of the event; or no row of the session has the event's id.
-- does not prove: Which of the two was changed.
-- meaning: Wrong content is shown.
-- next: Compare the event with its row, and both with a backup.
SELECT 'runtime_events' AS subject, p.event_id AS place, p.sequence AS first_seq, p.sequence AS last_seq, 1 AS records,
    'session ' || p.session_id || ', turn ' || p.turn_id || ', ' || p.meant || ' of row ' || p.sequence || CASE WHEN p.part > 1 THEN ', part ' || p.part ELSE '' END AS detail
FROM audit.import_pairs AS p WHERE p.differs
UNION ALL
SELECT 'runtime_events', f.event_id, NULL, NULL, 1,
    'session ' || f.session_id || ', turn ' || f.turn_id || ', ' || f.meant || ' of row ' || coalesce(f.stored_id, 'none') || ', which the session does not have'
FROM audit.import_found AS f SEMI JOIN audit.import_turns AS t ON t.session_id = f.session_id AND t.turn_id = f.turn_id
    ANTI JOIN audit.legacy_rows AS r ON r.session_id = f.session_id AND r.message_id = f.stored_id
WHERE f.converted AND f.meant <> 'turn_state'
ORDER BY subject, place, first_seq, last_seq, detail
