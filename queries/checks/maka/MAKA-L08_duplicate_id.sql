-- code: MAKA-L08
-- title: Two rows of a session have one id
-- severity: low
-- applies: maka sqlite 8-18
-- params: none
-- examines: audit.legacy_rows
-- proves: The id stands more than once among messages, results, notes and usage.
-- does not prove: Which was meant: copies by hand do this.
-- meaning: Shown twice after conversion.
-- next: Compare the rows.
SELECT 'session_messages' AS subject, session_id AS place, min(sequence) AS first_seq, max(sequence) AS last_seq, count(*) AS records,
    count(*) || ' rows with id ' || message_id AS detail
FROM audit.legacy_rows WHERE message_type NOT IN ('turn_state', 'tool_call', 'permission_decision')
GROUP BY session_id, message_id HAVING count(*) > 1
ORDER BY subject, place, first_seq, last_seq, detail
