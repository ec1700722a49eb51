-- code: MAKA-R07
-- title: A turn ran under a run that nobody admitted
-- severity: high
-- applies: maka sqlite 11-18
-- params: none
-- examines: audit.admissions
-- proves: The admission names another run than the turn's fresh invocation.
-- does not prove: Which is right.
-- meaning: Recovery and history disagree about the turn.
-- next: Compare with a backup.
SELECT 'core_root_turn_admissions' AS subject, a.session_id AS place, CAST(NULL AS BIGINT) AS first_seq, CAST(NULL AS BIGINT) AS last_seq, 1 AS records,
    'turn ' || a.turn_id || ': admitted ' || coalesce(a.run_id, 'none') || ', ran ' || min(i.run_id) AS detail
FROM audit.admissions AS a JOIN audit.inline_invocations AS i ON i.session_id = a.session_id AND i.turn_id = a.turn_id
WHERE i.source_kind = 'fresh' AND a.valid
GROUP BY a.session_id, a.turn_id, a.run_id HAVING NOT coalesce(bool_or(i.run_id = a.run_id), false)
ORDER BY subject, place, first_seq, last_seq, detail
