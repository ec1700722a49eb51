-- code: MAKA-T07
-- title: A handoff that one build hides
-- severity: info
-- applies: maka sqlite 16-18
-- params: none
-- examines: audit.openings
-- proves: An invocation continues by a handoff and has a parent.
-- does not prove: A loss.
-- meaning: Builds that looked for continuations only do not show it (V2).
-- next: Nothing with a later build.
SELECT 'openings' AS subject, run_id AS place, CAST(NULL AS BIGINT) AS first_seq, CAST(NULL AS BIGINT) AS last_seq, 1 AS records,
    'session ' || session_id || ', turn ' || turn_id AS detail
FROM audit.openings WHERE source_kind = 'handoff' AND parent_run
ORDER BY subject, place, first_seq, last_seq, detail
