-- code: MAKA-A13
-- title: The header of a session cannot be read
-- severity: high
-- applies: maka sqlite 5-18
-- params: none
-- examines: audit.sessions
-- proves: The header is not a JSON object, or it names another session than its row.
-- does not prove: What it was.
-- meaning: The session cannot be opened, and whether it was imported or converted is not known: checks that go by that say nothing of it.
-- next: Restore the row from a backup.
SELECT 'session_metadata' AS subject, session_id AS place, CAST(NULL AS BIGINT) AS first_seq, CAST(NULL AS BIGINT) AS last_seq, 1 AS records,
    CASE WHEN NOT readable THEN 'the header is not a JSON object' ELSE 'the id in the header is ' || CASE WHEN own_id IS NULL THEN 'missing' ELSE 'of another session' END END AS detail
FROM audit.sessions WHERE NOT readable OR own_id IS DISTINCT FROM session_id
ORDER BY subject, place, first_seq, last_seq, detail
