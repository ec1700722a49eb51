-- code: MAKA-T14
-- title: The transcript is in JSONL files
-- severity: medium
-- applies: maka sqlite 4-7
-- params: none
-- outcome: could_not_run
-- examines: audit.ledger_events
-- proves: The generation keeps transcripts beside the database, one file a session.
-- does not prove: Anything about them.
-- meaning: Events are checked; the transcript itself is not in this file.
-- next: Audit the workspace after an upgrade to v0.1.4 or later, on a copy.
SELECT 'runtime_events' AS subject, 'sessions' AS place, CAST(NULL AS BIGINT) AS first_seq, CAST(NULL AS BIGINT) AS last_seq, count(DISTINCT session_id) AS records,
    'transcript home is JSONL for ' || count(DISTINCT session_id) || ' session(s)' AS detail
FROM audit.ledger_events HAVING count(*) > 0
ORDER BY subject, place, first_seq, last_seq, detail
