-- code: MAKA-D22
-- title: The conversion to come will fail on this session, cut or change it
-- severity: high
-- applies: maka sqlite 8-18
-- params: none
-- examines: audit.import_turns
-- proves: By the rules of the merged converter (C4), these rows are refused, cut off or converted unlike the rest.
-- does not prove: What a later converter does.
-- meaning: After the upgrade the session cannot be read, or shows less than its rows say.
-- next: Settle these rows on a copy before the upgrade; keep session_messages.
SELECT 'session_messages' AS subject, session_id AS place, first_seq, last_seq, rows AS records,
    effect || ': ' || risk || coalesce(', turn ' || turn_id, '') || ': ' || detail AS detail,
    CASE effect WHEN 'fails' THEN 'high' WHEN 'cut' THEN 'high' ELSE 'low' END AS severity
FROM audit.import_risks WHERE code = 'D22'
ORDER BY subject, place, first_seq, last_seq, detail
