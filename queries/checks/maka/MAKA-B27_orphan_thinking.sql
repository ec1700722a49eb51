-- code: MAKA-B27
-- title: Thinking without its text
-- severity: high
-- applies: maka sqlite 11-18
-- params: none
-- examines: audit.transcript_facts
-- proves: In one fold of the projection no assistant text has the message id of the thinking.
-- does not prove: That the text was lost: it may stand in another invocation (V6).
-- meaning: The session, or every page that reaches the turn, is unreadable.
-- next: Read the session from session_messages where its rows are still there.
SELECT 'transcripts' AS subject, session_id AS place, CAST(NULL AS BIGINT) AS first_seq, CAST(NULL AS BIGINT) AS last_seq, count(*) AS records,
    'turn ' || turn_id || ', event ' || event_id AS detail
FROM audit.transcript_facts WHERE fact = 'diagnostic' AND view = 'hard' AND message LIKE 'thinking without the text%'
GROUP BY session_id, turn_id, event_id
ORDER BY subject, place, first_seq, last_seq, detail
