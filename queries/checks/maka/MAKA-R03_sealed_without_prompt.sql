-- code: MAKA-R03
-- title: A turn ended without the prompt it was admitted with
-- severity: high
-- applies: maka sqlite 11-18
-- params: none
-- examines: audit.admissions
-- proves: Its run is sealed, and no message of the user is in it.
-- does not prove: That the text is lost: the admission has it.
-- meaning: The prompt exists in the admission only and can never be appended.
-- next: Keep the admissions; the text is there.
SELECT 'core_root_turn_admissions' AS subject, a.session_id AS place, CAST(NULL AS BIGINT) AS first_seq, CAST(NULL AS BIGINT) AS last_seq, 1 AS records,
    'turn ' || a.turn_id || ', admitted ' || a.admitted_at AS detail
FROM audit.admissions AS a SEMI JOIN (
    SELECT i.session_id, i.turn_id FROM audit.inline_invocations AS i SEMI JOIN audit.terminals AS t ON t.invocation_id = i.invocation_id
) AS x ON x.session_id = a.session_id AND x.turn_id = a.turn_id
    ANTI JOIN audit.prompts AS p ON p.session_id = a.session_id AND p.turn_id = a.turn_id
WHERE a.has_input
ORDER BY subject, place, first_seq, last_seq, detail
