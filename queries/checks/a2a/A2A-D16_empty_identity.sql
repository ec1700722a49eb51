-- code: A2A-D16
-- title: An empty id or URL
-- severity: medium
-- applies: a2a postgres 1-14
-- params: none
-- examines: audit.stored_rows
-- proves: An id or URL is empty, which the SDK refuses to write; an empty context alone is legal and info.
-- does not prove: Who changed it, or when.
-- meaning: The row was written by other means than the SDK.
-- next: Find out who writes to the table.
SELECT table_name AS subject, place, created_sequence AS first_seq, created_sequence AS last_seq, 1 AS records, 'empty: ' || empty_fields AS detail, CASE WHEN empty_fields = 'context_id' THEN 'info' ELSE 'medium' END AS severity
FROM audit.stored_rows WHERE empty_fields <> ''
ORDER BY subject, place, first_seq, last_seq, detail
