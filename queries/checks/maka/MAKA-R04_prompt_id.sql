-- code: MAKA-R04
-- title: A prompt with an id of an older rule
-- severity: info
-- applies: maka sqlite 16-18
-- params: none
-- examines: audit.admissions
-- proves: No message of the turn has the id that recovery looks for.
-- does not prove: A fault: earlier builds did so.
-- meaning: Legal; it explains a prompt written twice (MAKA-R02).
-- next: Nothing.
SELECT 'core_root_turn_admissions' AS subject, a.session_id AS place, CAST(NULL AS BIGINT) AS first_seq, CAST(NULL AS BIGINT) AS last_seq, 1 AS records,
    'turn ' || a.turn_id AS detail
FROM audit.admissions AS a SEMI JOIN audit.prompts AS p ON p.session_id = a.session_id AND p.turn_id = a.turn_id
    ANTI JOIN audit.ledger_events AS e ON e.session_id = a.session_id AND e.event_id = coalesce(a.user_message_id, a.run_id || '-admitted-prompt')
WHERE a.has_input
ORDER BY subject, place, first_seq, last_seq, detail
