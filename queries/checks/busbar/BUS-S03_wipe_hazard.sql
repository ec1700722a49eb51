-- code: BUS-S03
-- title: The next start of the gateway would drop this data
-- severity: critical
-- applies: busbar sqlite 0-12
-- params: none
-- examines: source.store
-- proves: The version stamp is below 5 while tables with data names of the gateway exist; every plug-in drops and
--   recreates such a file.
-- does not prove: That the data are old: a stamp can be lost on a good file.
-- meaning: Opening this file with the gateway destroys what is in it.
-- next: Do not start the gateway on it. Copy the file; if the tables are of generation 5 or later, have the stamp restored
--   on a copy first.
SELECT 'file' AS subject, 'user_version' AS place, CAST(NULL AS BIGINT) AS first_seq, CAST(NULL AS BIGINT) AS last_seq,
    (SELECT CAST(sum(rows) AS BIGINT) FROM source.tables) AS records,
    'user_version is ' || stamp || ', the tables are there with rows to lose' AS detail
FROM source.store
WHERE stamp < 5 AND EXISTS (SELECT 1 FROM source.tables WHERE name IN ('keys', 'store_meta', 'usage_ledger', 'virtual_keys', 'usage_counters', 'aws_credentials'))
ORDER BY subject, place, first_seq, last_seq, detail
