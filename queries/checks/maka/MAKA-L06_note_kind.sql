-- code: MAKA-L06
-- title: A note of an unknown kind
-- severity: high
-- applies: maka sqlite 8-18
-- params: none
-- examines: audit.legacy_rows
-- proves: Its kind is none that is known.
-- does not prove: That a newer build does not know it.
-- meaning: The session cannot be read or converted by a build that does not know it.
-- next: See which build wrote it.
SELECT 'session_messages' AS subject, session_id AS place, sequence AS first_seq, sequence AS last_seq, 1 AS records,
    problem AS detail
FROM audit.legacy_rows WHERE valid AND note_kind = 'other'
ORDER BY subject, place, first_seq, last_seq, detail
