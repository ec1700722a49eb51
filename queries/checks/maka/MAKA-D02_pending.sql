-- code: MAKA-D02
-- title: A session that is not converted yet
-- severity: info
-- applies: maka sqlite 16-18
-- params: none
-- examines: audit.sessions
-- proves: Its header does not say that it was, and it has rows.
-- does not prove: That the conversion will succeed.
-- meaning: It is converted when it is next opened; the number of rows decides how long that takes.
-- next: Rehearse the conversion on a copy.
SELECT 'session_metadata' AS subject, s.session_id AS place, CAST(NULL AS BIGINT) AS first_seq, CAST(NULL AS BIGINT) AS last_seq, count(*) AS records,
    count(*) || ' row(s)' AS detail
FROM audit.sessions AS s JOIN audit.legacy_rows AS r ON r.session_id = s.session_id WHERE s.ledger_version IS NULL GROUP BY s.session_id
ORDER BY subject, place, first_seq, last_seq, detail
