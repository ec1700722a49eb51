-- code: MAKA-T10
-- title: The list of sessions shows an old line
-- severity: info
-- applies: maka sqlite 16-18
-- params: none
-- examines: audit.transcript_facts
-- proves: The digest of the preview is not that of the newest row shown.
-- does not prove: A loss: the answer's part is best effort by design.
-- meaning: A line in the list of sessions only.
-- next: Nothing.
SELECT 'session_catalog_projection' AS subject, c.session_id AS place, CAST(NULL AS BIGINT) AS first_seq, CAST(NULL AS BIGINT) AS last_seq, 1 AS records,
    'preview of ' || length(c.last_message_preview) || ' characters' AS detail
FROM raw.session_catalog_projection AS c JOIN audit.transcript_facts AS t ON t.session_id = c.session_id AND t.fact = 'session'
WHERE t.view = 'shown' AND c.last_message_preview IS NOT NULL AND sha256(c.last_message_preview) <> t.message
ORDER BY subject, place, first_seq, last_seq, detail
