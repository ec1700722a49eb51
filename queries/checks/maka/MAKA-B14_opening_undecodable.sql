-- code: MAKA-B14
-- title: An opening cannot be decoded
-- severity: high
-- applies: maka sqlite 5-18
-- params: none
-- examines: audit.openings
-- proves: It is not of the exact shape.
-- does not prove: What it said.
-- meaning: The list of the session's runs fails; one build did not open such a store at all.
-- next: Restore it from a backup.
SELECT 'openings' AS subject, invocation_id AS place, CAST(NULL AS BIGINT) AS first_seq, CAST(NULL AS BIGINT) AS last_seq, 1 AS records,
    'session ' || session_id || ' (' || shelf || '): ' || problem AS detail
FROM audit.openings WHERE problem IS NOT NULL
ORDER BY subject, place, first_seq, last_seq, detail
