-- code: A2A-F08
-- title: Row-level security hides configurations from the cleanup
-- severity: critical
-- applies: a2a postgres 11-14
-- params: none
-- examines: source.functions
-- proves: The push configurations have row-level security, and the cleanup's owner neither bypasses it nor is exempt as the
--   table's owner.
-- does not prove: Which rows are hidden.
-- meaning: Deletes of tasks keep callbacks without a word; the SDK refuses to start.
-- next: Give the function to a role with BYPASSRLS, or to the table's owner without FORCE ROW LEVEL SECURITY.
SELECT 'functions' AS subject, name AS place, CAST(NULL AS BIGINT) AS first_seq, CAST(NULL AS BIGINT) AS last_seq, 1 AS records, 'row-level security applies to ' || left(owner, 63) AS detail FROM source.functions WHERE intended AND name = 'a2a_delete_task_push_configs' AND owner_filtered
ORDER BY subject, place, first_seq, last_seq, detail
