-- code: A2A-J17
-- title: The file is damaged
-- severity: critical
-- applies: a2a-js sqlite 1
-- params: none
-- examines: source.store
-- proves: SQLite's own integrity check finds the copy's pages or indexes broken.
-- does not prove: What the damaged rows were.
-- meaning: Nothing read from this file can be trusted; no other check was made.
-- next: Restore the file from a backup; look at the disk.
SELECT 'file' AS subject, 'integrity_check' AS place, CAST(NULL AS BIGINT) AS first_seq, CAST(NULL AS BIGINT) AS last_seq, count(*) AS records,
    count(*) || ' message(s), the first: ' || left(min(message), 120) AS detail
FROM source.integrity HAVING count(*) > 0
ORDER BY subject, place, first_seq, last_seq, detail
