-- code: MAKA-L02
-- title: A row's record is not JSON, or names another row than its columns
-- severity: high
-- applies: maka sqlite 8-18
-- params: none
-- examines: audit.legacy_rows
-- proves: Columns and record disagree, or the record cannot be read.
-- does not prove: Which is right.
-- meaning: The row is unreadable or misfiled; the whole session cannot be read or converted.
-- next: Restore it from a backup.
SELECT 'session_messages' AS subject, session_id AS place, sequence AS first_seq, sequence AS last_seq, 1 AS records,
    CASE WHEN valid THEN 'differing: ' || misfiled ELSE 'not a JSON object, ' || bytes || ' bytes' END AS detail
FROM audit.legacy_rows WHERE (NOT valid AND chunk_fault IS NULL) OR misfiled IS NOT NULL
ORDER BY subject, place, first_seq, last_seq, detail
