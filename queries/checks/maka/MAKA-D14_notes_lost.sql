-- code: MAKA-D14
-- title: Notes that a released build wrote past the ledger
-- severity: info
-- applies: maka sqlite 16-18
-- params: none
-- examines: audit.legacy_rows
-- proves: A retained note is among the rows of a converted session, and its turn has no such note in the ledger.
-- does not prove: A loss that is new: it was accepted at the cut.
-- meaning: The note is shown nowhere.
-- next: Nothing; the rows have it.
SELECT 'session_messages' AS subject, r.session_id AS place, min(r.sequence) AS first_seq, max(r.sequence) AS last_seq, count(*) AS records,
    count(*) || ' note(s) of kind ' || r.note_kind AS detail
FROM audit.legacy_rows AS r SEMI JOIN (SELECT * FROM audit.sessions WHERE ledger_version = 1) AS s ON s.session_id = r.session_id
    ANTI JOIN (SELECT * FROM audit.ledger_events WHERE content_kind = 'system_note') AS n ON n.session_id = r.session_id AND n.turn_id = r.turn_id
WHERE r.note_kind LIKE 'context%' AND r.turn_id IS NOT NULL GROUP BY r.session_id, r.note_kind
ORDER BY subject, place, first_seq, last_seq, detail
