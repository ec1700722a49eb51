-- code: MAKA-A12
-- title: Version and shape disagree
-- severity: medium
-- applies: maka sqlite 4-18
-- params: none
-- examines: source.store
-- proves: The tables are of a later generation than user_version says, or the two places of the runtime version differ.
-- does not prove: Which is right.
-- meaning: A migration stopped half way, or the number was changed by hand.
-- next: Do not open the original; compare with a backup from before the last upgrade.
SELECT 'file' AS subject, 'user_version' AS place, CAST(NULL AS BIGINT) AS first_seq, CAST(NULL AS BIGINT) AS last_seq, 1 AS records,
    'user_version is ' || stamp || ', the tables are of generation ' || implied || ' at least' AS detail
FROM source.store WHERE stamp < implied
UNION ALL
SELECT 'file' AS subject, s.place AS place, CAST(NULL AS BIGINT) AS first_seq, CAST(NULL AS BIGINT) AS last_seq, 1 AS records,
    'runtime is ' || s.version || ' there, user_version is ' || u.version AS detail
FROM source.scopes AS s JOIN source.scopes AS u ON u.place = 'PRAGMA user_version' AND s.scope = 'runtime' WHERE s.version <> u.version
ORDER BY subject, place, first_seq, last_seq, detail
