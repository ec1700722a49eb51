-- code: MAKA-B35
-- title: A session that its reader refuses
-- severity: high
-- applies: maka sqlite 16-18
-- params: none
-- examines: audit.transcript_facts
-- proves: The Session view, computed as the application does, throws; checks of the event tell why.
-- does not prove: That pages refuse it, too (MAKA-T05).
-- meaning: The user cannot open the conversation.
-- next: Mend the event that is named on a copy, or read the session by pages.
SELECT 'transcripts' AS subject, s.session_id AS place, CAST(NULL AS BIGINT) AS first_seq, CAST(NULL AS BIGINT) AS last_seq, 1 AS records,
    s.message || coalesce(': ' || min(d.message) || ' (event ' || coalesce(min(d.event_id), '') || ')', '') AS detail
FROM audit.transcript_facts AS s LEFT JOIN (SELECT * FROM audit.transcript_facts WHERE fact = 'diagnostic' AND view = 'hard') AS d
    ON d.session_id = s.session_id
WHERE s.fact = 'session' AND s.view = 'refused' GROUP BY s.session_id, s.message
ORDER BY subject, place, first_seq, last_seq, detail
