-- code: A2A-J08
-- title: A row that cannot be read
-- severity: critical
-- applies: a2a-js postgres 1, a2a-js sqlite 1
-- params: none
-- examines: audit.stored_rows
-- proves: The status is no JSON object with a state that is a text, or the configuration no JSON object.
-- does not prove: What it was before.
-- meaning: The SDK fails on this row, and on every page with it.
-- next: Restore the row from a backup, or delete it.
SELECT table_name AS subject, place, CAST(NULL AS BIGINT) AS first_seq, CAST(NULL AS BIGINT) AS last_seq, 1 AS records, reason AS detail FROM audit.stored_rows WHERE NOT ok
ORDER BY subject, place, first_seq, last_seq, detail
