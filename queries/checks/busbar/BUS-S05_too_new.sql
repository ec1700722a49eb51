-- code: BUS-S05
-- title: The store is newer than this version knows
-- severity: medium
-- applies: busbar sqlite 0-999
-- params: none
-- outcome: could_not_run
-- examines: source.store
-- proves: user_version is above 12.
-- does not prove: Anything about the content: its rules are not known here.
-- meaning: Nothing of this store is judged, because guessing would be worse.
-- next: Update busbar-audit, or audit with the version that fits the gateway.
SELECT 'file' AS subject, 'user_version' AS place, CAST(NULL AS BIGINT) AS first_seq, CAST(NULL AS BIGINT) AS last_seq, 1 AS records,
    'user_version is ' || stamp || ', known are 5 to 12' AS detail
FROM source.store WHERE stamp > 12
ORDER BY subject, place, first_seq, last_seq, detail
