-- code: MAKA-L11
-- title: A turn without a message of the user
-- severity: low
-- applies: maka sqlite 8-18
-- params: none
-- examines: audit.legacy_rows
-- proves: No row of the turn is a user's own message.
-- does not prove: A loss: the rows are there.
-- meaning: Conversion leaves the turn out; its content stays in session_messages only.
-- next: Keep session_messages; look at what the turn holds.
SELECT 'session_messages' AS subject, session_id AS place, min(sequence) AS first_seq, max(sequence) AS last_seq, count(*) AS records,
    'turn ' || turn_id || ': ' || count(*) || ' row(s)' AS detail
FROM audit.legacy_rows WHERE turn_id IS NOT NULL
GROUP BY session_id, turn_id HAVING count(*) FILTER (type = 'user' AND steering_event IS NULL) = 0
ORDER BY subject, place, first_seq, last_seq, detail
