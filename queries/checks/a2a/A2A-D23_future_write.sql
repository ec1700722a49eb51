-- code: A2A-D23
-- title: A row written in the future
-- severity: low
-- applies: a2a postgres 1-14
-- params: as_of hugeint
-- examines: audit.stored_rows
-- proves: updated_at is more than five minutes after the audit's clock.
-- does not prove: Which clock is wrong.
-- meaning: The server's clock was wrong, or the data came from elsewhere.
-- next: Look at the clock.
SELECT table_name AS subject, place, created_sequence AS first_seq, created_sequence AS last_seq, 1 AS records, updated - $as_of || ' seconds after the audit' AS detail FROM audit.stored_rows WHERE updated > $as_of + 300
ORDER BY subject, place, first_seq, last_seq, detail
