-- code: MAKA-D21
-- title: The account of an import does not balance
-- severity: critical
-- applies: maka sqlite 8-18
-- params: none
-- examines: audit.import_account
-- proves: Rows of session_messages are not the sum of what became of them, or a lost row is named by no finding.
-- does not prove: A loss in the store: this kit has miscounted.
-- meaning: Nothing that is said of the session's import can be relied on.
-- next: Report it with the version of this kit.
SELECT 'session_messages' AS subject, session_id AS place, first_lost AS first_seq, CAST(NULL AS BIGINT) AS last_seq,
    abs(rows - converted - owned - skipped - lost - pending - unread) AS records,
    kind || ': ' || rows || ' row(s), accounted ' || (converted + owned + skipped + lost + pending + unread) AS detail
FROM audit.import_account WHERE NOT balances
UNION ALL
SELECT 'session_messages', session_id, min(sequence), max(sequence), count(*), 'lost by no named finding: ' || rule
FROM audit.import_rows WHERE fate = 'lost' AND coalesce(code, '') = '' GROUP BY session_id, rule
ORDER BY subject, place, first_seq, last_seq, detail
