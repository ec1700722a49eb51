-- code: MAKA-B05
-- title: The places of a session are not 1 to n
-- severity: info
-- applies: maka sqlite 11-18
-- params: none
-- examines: raw.runtime_session_event_ordinals
-- proves: A place is missing.
-- does not prove: A loss: deleting events leaves such gaps.
-- meaning: Legal after a deletion; else rows were lost.
-- next: See whether anything of the session was deleted.
SELECT 'runtime_session_event_ordinals' AS subject, session_id AS place, min(ordinal) AS first_seq, max(ordinal) AS last_seq, max(ordinal) - count(*) AS records,
    count(*) || ' place(s) numbered ' || min(ordinal) || ' to ' || max(ordinal) AS detail
FROM raw.runtime_session_event_ordinals GROUP BY session_id HAVING min(ordinal) <> 1 OR max(ordinal) <> count(*)
ORDER BY subject, place, first_seq, last_seq, detail
