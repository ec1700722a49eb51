-- code: BUS-S11
-- title: The journal of the file is not as the gateway leaves it
-- severity: medium
-- applies: busbar sqlite 5-12
-- params: none
-- examines: source.store
-- proves: The file is not in WAL mode, or its WAL is larger than 64 MiB.
-- does not prove: Loss: this audit read the WAL together with the file.
-- meaning: A copy of the main file alone would lose every commit still in the WAL. A file not in WAL mode was written last
--   by something else than the gateway, such as a copy tool.
-- next: Copy such stores by the backup API only; find the reader that keeps the WAL from being checkpointed.
SELECT 'file' AS subject, 'journal' AS place, CAST(NULL AS BIGINT) AS first_seq, CAST(NULL AS BIGINT) AS last_seq, 1 AS records,
    CASE WHEN journal_mode <> 'wal' THEN 'the file is in ' || journal_mode || ' mode, the gateway works in WAL mode only'
        ELSE 'the WAL has ' || wal_bytes || ' bytes' END AS detail,
    CASE WHEN journal_mode <> 'wal' THEN 'low' ELSE 'medium' END AS severity
FROM source.store WHERE journal_mode <> 'wal' OR coalesce(wal_bytes, 0) > 67108864
ORDER BY subject, place, first_seq, last_seq, detail
