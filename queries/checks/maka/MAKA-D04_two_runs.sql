-- code: MAKA-D04
-- title: A turn with a converted and a native run
-- severity: low
-- applies: maka sqlite 11-18
-- params: none
-- examines: audit.inline_invocations
-- proves: Two fresh runs of the turn are in the transcript, one of them converted.
-- does not prove: Which is right.
-- meaning: The turn is shown twice.
-- next: Compare the two.
SELECT 'openings' AS subject, session_id AS place, CAST(NULL AS BIGINT) AS first_seq, CAST(NULL AS BIGINT) AS last_seq, count(*) AS records,
    'turn ' || turn_id || ': ' || count(*) || ' runs' AS detail
FROM audit.inline_invocations WHERE source_kind = 'fresh'
GROUP BY session_id, turn_id HAVING count(*) > 1 AND bool_or(starts_with(run_id, 'transcript-'))
ORDER BY subject, place, first_seq, last_seq, detail
