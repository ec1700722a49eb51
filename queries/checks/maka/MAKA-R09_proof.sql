-- code: MAKA-R09
-- title: A consumed message without its receipt
-- severity: high
-- applies: maka sqlite 11-18
-- params: none
-- examines: raw.core_root_source_message_proofs
-- proves: The turn that the proof names is not admitted, or does not hold the message exactly once.
-- does not prove: That the message was not executed.
-- meaning: A consumed message has no receipt.
-- next: Restore both tables from the same backup.
SELECT 'core_root_source_message_proofs' AS subject, p.session_id AS place, CAST(NULL AS BIGINT) AS first_seq, CAST(NULL AS BIGINT) AS last_seq, 1 AS records,
    'message ' || p.message_id || ', turn ' || p.turn_id AS detail
FROM raw.core_root_source_message_proofs AS p LEFT JOIN audit.admissions AS a ON a.session_id = p.session_id AND a.turn_id = p.turn_id
WHERE a.turn_id IS NULL OR len(list_filter(coalesce(a.sources, []), lambda m: m = p.message_id)) <> 1
ORDER BY subject, place, first_seq, last_seq, detail
