-- code: MAKA-L12
-- title: A retained note that belongs to no turn
-- severity: info
-- applies: maka sqlite 8-18
-- params: none
-- examines: audit.legacy_rows
-- proves: A note of a kind that conversion keeps has no turn.
-- does not prove: A loss of conversation.
-- meaning: It cannot be converted.
-- next: Nothing.
SELECT 'session_messages' AS subject, session_id AS place, sequence AS first_seq, sequence AS last_seq, 1 AS records,
    'note ' || note_kind AS detail
FROM audit.legacy_rows WHERE note_kind LIKE 'context%' AND turn_id IS NULL
ORDER BY subject, place, first_seq, last_seq, detail
