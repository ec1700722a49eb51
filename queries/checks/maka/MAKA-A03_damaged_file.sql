-- code: MAKA-A03
-- title: The file is damaged, or rows point nowhere
-- severity: critical
-- applies: maka sqlite 0-999
-- params: none
-- examines: source.tables
-- proves: SQLite itself finds pages, indexes or constraints of the copy inconsistent, or a reference without its row.
-- does not prove: What was lost, or who did it.
-- meaning: Nothing read from a damaged file can be trusted, so every later check is held back; a dangling reference alone holds
--   nothing back.
-- next: Keep the file as it is. Restore a backup, or recover into a new file with `sqlite3 FILE .recover`, and audit that.
SELECT 'file' AS subject, message AS place, CAST(NULL AS BIGINT) AS first_seq, CAST(NULL AS BIGINT) AS last_seq, 1 AS records,
    'integrity_check: ' || message AS detail, 'critical' AS severity
FROM source.integrity
UNION ALL
SELECT table_name AS subject, row_key AS place, CAST(NULL AS BIGINT) AS first_seq, CAST(NULL AS BIGINT) AS last_seq, 1 AS records,
    'row ' || row_key || ' refers to a row of ' || parent || ' that is not there' AS detail, 'high' AS severity
FROM source.foreign_keys
ORDER BY subject, place, first_seq, last_seq, detail
