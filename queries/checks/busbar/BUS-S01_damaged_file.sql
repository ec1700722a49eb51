-- code: BUS-S01
-- title: The file is damaged
-- severity: critical
-- applies: busbar sqlite 5-12
-- params: none
-- examines: source.tables
-- proves: SQLite itself finds the pages, indexes and constraints of the copy inconsistent.
-- does not prove: What was lost, or who did it.
-- meaning: Nothing read from a damaged file can be trusted, so every later check is held back.
-- next: Keep the file as it is. Restore a backup, or recover into a new file with `sqlite3 FILE .recover`, and audit that.
SELECT 'file' AS subject, message AS place, CAST(NULL AS BIGINT) AS first_seq, CAST(NULL AS BIGINT) AS last_seq, 1 AS records,
    'integrity_check: ' || message AS detail
FROM source.integrity
ORDER BY subject, place, first_seq, last_seq, detail
