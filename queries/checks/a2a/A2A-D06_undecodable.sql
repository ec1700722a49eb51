-- code: A2A-D06
-- title: A payload that cannot be read
-- severity: critical
-- applies: a2a postgres 1-14
-- params: none
-- examines: audit.stored_rows
-- proves: The bytes are no message of this type by the rules of protobuf.
-- does not prove: What they were before.
-- meaning: The SDK answers with a serialisation error; one such row breaks a whole page of a list.
-- next: Restore the row from a backup, or delete it.
SELECT table_name AS subject, place, created_sequence AS first_seq, created_sequence AS last_seq, 1 AS records, reason || ' (' || coalesce(bytes, 0) || ' bytes)' AS detail FROM audit.stored_rows WHERE ok IS NOT TRUE
ORDER BY subject, place, first_seq, last_seq, detail
