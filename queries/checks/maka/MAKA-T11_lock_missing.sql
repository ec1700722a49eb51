-- code: MAKA-T11
-- title: A session's connection is not locked though the user has spoken
-- severity: low
-- applies: maka sqlite 11-18
-- params: none
-- examines: audit.sessions
-- proves: The header says that it is not locked, and a native run holds a message of the user.
-- does not prove: Harm.
-- meaning: The lock of the first message was not taken.
-- next: Look at which build wrote the session.
SELECT 'session_metadata' AS subject, s.session_id AS place, CAST(NULL AS BIGINT) AS first_seq, CAST(NULL AS BIGINT) AS last_seq, 1 AS records,
    'connectionLocked is false' AS detail
FROM audit.sessions AS s SEMI JOIN (SELECT * FROM audit.prompts WHERE NOT starts_with(run_id, 'transcript-')) AS p ON p.session_id = s.session_id
WHERE s.connection_locked = 'false'
ORDER BY subject, place, first_seq, last_seq, detail
