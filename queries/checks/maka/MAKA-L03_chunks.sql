-- code: MAKA-L03
-- title: A large record is not whole
-- severity: high
-- applies: maka sqlite 8-18
-- params: none
-- examines: audit.legacy_rows
-- proves: Chunks are missing or too many, or the record's length is another.
-- does not prove: What is missing.
-- meaning: A large row is lost or cut; conversion of the whole session is refused.
-- next: Restore the three tables from the same backup.
SELECT 'session_messages' AS subject, session_id AS place, sequence AS first_seq, sequence AS last_seq, 1 AS records,
    coalesce(chunk_fault, 'there are chunks of a record that stands in the row itself') AS detail
FROM audit.legacy_rows WHERE (chunk_fault IS NOT NULL AND chunk_fault NOT LIKE '%its digest says') OR (NOT chunked AND (payload_bytes IS NOT NULL OR chunks IS NOT NULL))
ORDER BY subject, place, first_seq, last_seq, detail
