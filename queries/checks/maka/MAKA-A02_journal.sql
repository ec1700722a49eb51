-- code: MAKA-A02
-- title: The journal is not a write-ahead log
-- severity: low
-- applies: maka sqlite 0-999
-- params: none
-- examines: source.store
-- proves: The file's journal mode is not wal, which the application sets at every start.
-- does not prove: That anything is missing.
-- meaning: The file was made by another tool or copied without its log: the newest commits may be missing.
-- next: Take the copy again with the log beside it, or by the backup interface.
SELECT 'file' AS subject, 'journal_mode' AS place, CAST(NULL AS BIGINT) AS first_seq, CAST(NULL AS BIGINT) AS last_seq, 1 AS records,
    'journal mode ' || journal_mode AS detail
FROM source.store WHERE journal_mode <> 'wal'
ORDER BY subject, place, first_seq, last_seq, detail
