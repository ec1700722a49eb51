-- code: BUS-S04
-- title: The version stamp is lower than the tables
-- severity: critical
-- applies: busbar sqlite 5-12
-- params: none
-- examines: source.store
-- proves: The file holds tables of a later generation than user_version says.
-- does not prove: Which plug-in did it.
-- meaning: An older plug-in opened a newer file. One-time steps of the upgrade (billing backfill, plane copy) may run
--   again at the next start.
-- next: Do not start any gateway on it before the stamp is explained; compare usage counters with a backup.
SELECT 'file' AS subject, 'user_version' AS place, CAST(NULL AS BIGINT) AS first_seq, CAST(NULL AS BIGINT) AS last_seq, 1 AS records,
    'user_version is ' || stamp || ', the tables are of generation ' || implied || ' at least' AS detail
FROM source.store WHERE stamp < implied AND implied >= 7
ORDER BY subject, place, first_seq, last_seq, detail
