-- code: MAKA-D05
-- title: A converted run whose id is not that of its turn
-- severity: low
-- applies: maka sqlite 11-18
-- params: none
-- examines: audit.openings
-- proves: The id begins like a converted run's and is not derived from session and turn.
-- does not prove: Tampering: a copied or branched session has such ids.
-- meaning: Recovery takes the run for a crashed one.
-- next: See whether the session was copied.
SELECT 'openings' AS subject, run_id AS place, CAST(NULL AS BIGINT) AS first_seq, CAST(NULL AS BIGINT) AS last_seq, 1 AS records,
    'session ' || session_id || ', turn ' || turn_id AS detail
FROM audit.openings
WHERE starts_with(run_id, 'transcript-') AND run_id <> 'transcript-' || left(sha256(session_id || chr(0) || turn_id), 48)
ORDER BY subject, place, first_seq, last_seq, detail
