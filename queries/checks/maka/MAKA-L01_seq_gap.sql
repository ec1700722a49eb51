-- code: MAKA-L01
-- title: The numbers of a session's rows are not 0 to n
-- severity: low
-- applies: maka sqlite 8-18
-- params: none
-- examines: audit.legacy_rows
-- proves: A number is missing.
-- does not prove: That the row held content.
-- meaning: Rows were removed by hand or by a copy.
-- next: Compare with a backup.
SELECT 'session_messages' AS subject, session_id AS place, min(sequence) AS first_seq, max(sequence) AS last_seq, max(sequence) + 1 - count(*) AS records,
    count(*) || ' row(s) numbered ' || min(sequence) || ' to ' || max(sequence) AS detail
FROM audit.legacy_rows GROUP BY session_id HAVING min(sequence) <> 0 OR max(sequence) <> count(*) - 1
ORDER BY subject, place, first_seq, last_seq, detail
