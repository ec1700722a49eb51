-- code: MAKA-R05
-- title: A prompt is not what was admitted
-- severity: high
-- applies: maka sqlite 11-18
-- params: none
-- examines: audit.admissions
-- proves: The content of the turn's only message differs from the admission's (digests of both).
-- does not prove: Which was executed.
-- meaning: The host refuses the session at its start.
-- next: Compare the two texts.
SELECT 'core_root_turn_admissions' AS subject, a.session_id AS place, CAST(NULL AS BIGINT) AS first_seq, CAST(NULL AS BIGINT) AS last_seq, 1 AS records,
    'turn ' || a.turn_id || ': admitted ' || left(a.prompt_digest, 12) || ', stored ' || left(min(p.prompt_digest), 12) AS detail
FROM audit.admissions AS a JOIN audit.prompts AS p ON p.session_id = a.session_id AND p.turn_id = a.turn_id
WHERE a.has_input AND a.prompt_digest IS NOT NULL
GROUP BY a.session_id, a.turn_id, a.prompt_digest HAVING count(*) = 1 AND min(p.prompt_digest) <> a.prompt_digest
ORDER BY subject, place, first_seq, last_seq, detail
