-- code: A2A-F01
-- title: A helper runs with the caller's rights
-- severity: critical
-- applies: a2a postgres 11-14
-- params: none
-- examines: source.functions
-- proves: The function is not SECURITY DEFINER.
-- does not prove: Who changed it, or when.
-- meaning: The SDK refuses to start; a delete by a role with few rights fails.
-- next: Run the migration of your SDK version again; it replaces the function and its rights.
SELECT 'functions' AS subject, name AS place, CAST(NULL AS BIGINT) AS first_seq, CAST(NULL AS BIGINT) AS last_seq, 1 AS records, 'not SECURITY DEFINER' AS detail FROM source.functions WHERE intended AND NOT security_definer
ORDER BY subject, place, first_seq, last_seq, detail
