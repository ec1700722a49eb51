-- code: MAKA-A01
-- title: The store is newer than this version knows
-- severity: medium
-- applies: maka sqlite 0-999
-- params: none
-- outcome: could_not_run
-- examines: source.scopes
-- proves: A scope's schema version is above the newest known one.
-- does not prove: Anything about the content: its rules are not known here.
-- meaning: Nothing of this store is judged, because guessing would be worse.
-- next: Update busbar-audit, or audit with the version that fits the application.
SELECT 'file' AS subject, scope || ' in ' || place AS place, CAST(NULL AS BIGINT) AS first_seq, CAST(NULL AS BIGINT) AS last_seq, 1 AS records,
    'version ' || version || ', known up to ' || newest AS detail
FROM source.scopes WHERE version > newest
ORDER BY subject, place, first_seq, last_seq, detail
