-- code: BUS-S05
-- title: The store is newer than this version knows
-- severity: medium
-- applies: busbar sqlite 0-999, busbar postgres 0-999
-- params: none
-- outcome: could_not_run
-- examines: source.store
-- proves: user_version is above 12.
-- does not prove: Anything about the content: its rules are not known here.
-- meaning: Nothing of this store is judged, because guessing would be worse.
-- next: Update busbar-audit, or audit with the version that fits the gateway.
SELECT 'file' AS subject, CASE engine WHEN 'sqlite' THEN 'user_version' ELSE 'busbar_schema' END AS place, CAST(NULL AS BIGINT) AS first_seq, CAST(NULL AS BIGINT) AS last_seq, 1 AS records,
    CASE engine WHEN 'sqlite' THEN 'user_version' ELSE 'the highest version in busbar_schema' END || ' is ' || stamp || ', known are ' || known AS detail
FROM source.store WHERE stamp > newest
ORDER BY subject, place, first_seq, last_seq, detail
