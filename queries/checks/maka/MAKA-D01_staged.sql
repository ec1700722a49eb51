-- code: MAKA-D01
-- title: An import that was never published
-- severity: low
-- applies: maka sqlite 16-18
-- params: none
-- examines: audit.sessions
-- proves: The session's header says that its import is staged.
-- does not prove: That it will not be: an import may be running.
-- meaning: Nobody sees the session until recovery has prepared it.
-- next: Start the application on a copy and audit again.
SELECT 'session_metadata' AS subject, session_id AS place, CAST(NULL AS BIGINT) AS first_seq, CAST(NULL AS BIGINT) AS last_seq, 1 AS records,
    'transcriptLedgerVersion is 0' AS detail
FROM audit.sessions WHERE ledger_version = 0
ORDER BY subject, place, first_seq, last_seq, detail
