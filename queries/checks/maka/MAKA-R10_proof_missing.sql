-- code: MAKA-R10
-- title: A consumed message that nothing proves
-- severity: high
-- applies: maka sqlite 11-18
-- params: none
-- examines: audit.admissions
-- proves: The admission holds the message, and there is no proof.
-- does not prove: That the message was not executed.
-- meaning: A delegation that leads to this message loses it.
-- next: Restore both tables from the same backup.
WITH used AS (SELECT session_id, turn_id, unnest(sources) AS message_id FROM audit.admissions)
SELECT 'core_root_turn_admissions' AS subject, u.session_id AS place, CAST(NULL AS BIGINT) AS first_seq, CAST(NULL AS BIGINT) AS last_seq, 1 AS records,
    'message ' || u.message_id || ', turn ' || u.turn_id AS detail
FROM used AS u ANTI JOIN raw.core_root_source_message_proofs AS p
    ON p.session_id = u.session_id AND p.turn_id = u.turn_id AND p.message_id = u.message_id
ORDER BY subject, place, first_seq, last_seq, detail
