-- code: MAKA-D16
-- title: A converted turn is dated into the live history
-- severity: low
-- applies: maka sqlite 16-18
-- params: none
-- examines: audit.openings
-- proves: Its opening is not before the session's creation.
-- does not prove: That order is wrong: equal times are legal for a session created at 0.
-- meaning: Converted turns may be read among native ones.
-- next: Look at the order of the session's turns.
SELECT 'openings' AS subject, o.run_id AS place, CAST(NULL AS BIGINT) AS first_seq, CAST(NULL AS BIGINT) AS last_seq, 1 AS records,
    'session ' || o.session_id || ': opened ' || CAST(o.opened_at - s.created AS BIGINT) || ' ms after the session was made' AS detail
FROM audit.openings AS o JOIN audit.sessions AS s ON s.session_id = o.session_id
WHERE starts_with(o.run_id, 'transcript-') AND o.opened_at >= s.created AND s.created > 0
ORDER BY subject, place, first_seq, last_seq, detail
