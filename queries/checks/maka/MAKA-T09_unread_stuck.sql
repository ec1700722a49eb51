-- code: MAKA-T09
-- title: A session stays unread though all of it was read
-- severity: info
-- applies: maka sqlite 16-18
-- params: none
-- examines: audit.transcript_facts
-- proves: Its header says unread, and the last read message is the newest that is shown.
-- does not prove: A loss.
-- meaning: A badge that does not go away.
-- next: Open the session.
SELECT 'session_metadata' AS subject, s.session_id AS place, CAST(NULL AS BIGINT) AS first_seq, CAST(NULL AS BIGINT) AS last_seq, 1 AS records,
    'last read is the newest row' AS detail
FROM audit.sessions AS s JOIN audit.transcript_facts AS t ON t.session_id = s.session_id AND t.fact = 'session' AND t.event_id = s.last_read
WHERE s.unread = 'true'
ORDER BY subject, place, first_seq, last_seq, detail
