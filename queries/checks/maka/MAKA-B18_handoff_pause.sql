-- code: MAKA-B18
-- title: An invocation of the transcript ended in a handoff pause
-- severity: low
-- applies: maka sqlite 16-18
-- params: none
-- examines: audit.terminals
-- proves: Its terminal hands over and has no status.
-- does not prove: A fault of the data.
-- meaning: The Session view throws on it, pages serve it (V3).
-- next: Open the session in the build in use before an upgrade.
SELECT 'runtime_events' AS subject, t.event_id AS place, t.seq AS first_seq, t.seq AS last_seq, 1 AS records,
    'session ' || t.session_id || ', invocation ' || t.invocation_id AS detail
FROM audit.terminals AS t SEMI JOIN audit.inline_invocations AS i ON i.invocation_id = t.invocation_id WHERE t.handoff AND t.status IS NULL
ORDER BY subject, place, first_seq, last_seq, detail
