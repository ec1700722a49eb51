-- code: MAKA-D14
-- title: Notes that a released build wrote past the ledger
-- severity: info
-- applies: maka sqlite 8-18
-- params: none
-- examines: audit.import_rows
-- proves: A retained note is among the rows of a turn that is converted or owned by a native run, and the ledger has no such note of it.
-- does not prove: A loss that is new: it was accepted at the cut.
-- meaning: The note is shown nowhere.
-- next: Nothing; the rows have it.
SELECT 'session_messages' AS subject, r.session_id AS place, min(r.sequence) AS first_seq, max(r.sequence) AS last_seq, count(*) AS records,
    count(*) || ' note(s) of kind ' || split_part(r.kind, ' ', 2) AS detail
FROM audit.import_rows AS r
WHERE r.code = 'D14' GROUP BY r.session_id, r.kind
ORDER BY subject, place, first_seq, last_seq, detail
