-- code: MAKA-B34
-- title: A compaction that the transcript does not tell
-- severity: info
-- applies: maka sqlite 4-18
-- params: none
-- examines: audit.terminals
-- proves: The terminal says that the context was compacted, and the invocation has no note.
-- does not prove: A loss of content.
-- meaning: The compaction happened; the transcript is silent about it.
-- next: Nothing.
SELECT 'runtime_events' AS subject, t.event_id AS place, t.seq AS first_seq, t.seq AS last_seq, 1 AS records,
    'session ' || t.session_id || ', invocation ' || t.invocation_id AS detail
FROM audit.terminals AS t ANTI JOIN (SELECT * FROM audit.ledger_events WHERE content_kind = 'system_note') AS n ON n.invocation_id = t.invocation_id
WHERE t.compacted
ORDER BY subject, place, first_seq, last_seq, detail
