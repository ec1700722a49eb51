-- code: MAKA-L07
-- title: A row is not of the exact shape that readers accept
-- severity: high
-- applies: maka sqlite 8-18
-- params: none
-- examines: audit.legacy_rows
-- proves: It has a member or word that is not known, or lacks one.
-- does not prove: That a newer build refuses it.
-- meaning: The session cannot be read or converted.
-- next: See which build wrote it; else restore it from a backup.
SELECT 'session_messages' AS subject, session_id AS place, sequence AS first_seq, sequence AS last_seq, 1 AS records,
    problems || ' problem(s), the first: ' || problem AS detail
FROM audit.legacy_rows WHERE valid AND problems > 0 AND type IS DISTINCT FROM 'other' AND note_kind IS DISTINCT FROM 'other' AND coalesce(misfiled, '') NOT LIKE '%type%'
ORDER BY subject, place, first_seq, last_seq, detail
