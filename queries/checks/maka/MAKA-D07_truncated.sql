-- code: MAKA-D07
-- title: A converted turn that failed, though its rows say it completed
-- severity: high
-- applies: maka sqlite 8-18
-- params: none
-- examines: audit.terminals
-- proves: The converted ending is not completed, and a row of the turn says completed.
-- does not prove: How much is missing.
-- meaning: The answer is hidden behind a false failure.
-- next: Restore the turn from session_messages.
SELECT 'runtime_events' AS subject, t.event_id AS place, t.seq AS first_seq, t.seq AS last_seq, 1 AS records,
    'session ' || t.session_id || ', turn ' || t.turn_id || ': ' || coalesce(t.status, 'no status')
        || coalesce('; ' || c.generation || ', ' || c.shape || ': ' || c.cause, '') AS detail
FROM audit.terminals AS t SEMI JOIN (
    SELECT session_id, turn_id FROM audit.legacy_rows WHERE type = 'turn_state' GROUP BY session_id, turn_id
    HAVING arg_max(status, sequence) = 'completed' AND arg_max(status, (message_ts, sequence)) = 'completed'
) AS r ON r.session_id = t.session_id AND r.turn_id = t.turn_id
    LEFT JOIN audit.import_causes AS c ON c.session_id = t.session_id AND c.turn_id = t.turn_id
WHERE starts_with(t.run_id, 'transcript-') AND t.status IS DISTINCT FROM 'completed'
ORDER BY subject, place, first_seq, last_seq, detail
