-- code: MAKA-L04
-- title: A large record is not what its digest says
-- severity: high
-- applies: maka sqlite 12-18
-- params: none
-- examines: audit.legacy_rows
-- proves: The SHA-256 of a chunk or of the joined record is not the stored one.
-- does not prove: What was changed.
-- meaning: Conversion and reading of the whole session are refused.
-- next: Restore the three tables from the same backup.
SELECT 'session_messages' AS subject, session_id AS place, sequence AS first_seq, sequence AS last_seq, 1 AS records,
    chunk_fault AS detail
FROM audit.legacy_rows WHERE chunk_fault LIKE '%its digest says'
ORDER BY subject, place, first_seq, last_seq, detail
