-- code: A2A-F02
-- title: A helper is not volatile
-- severity: critical
-- applies: a2a postgres 11-14
-- params: none
-- examines: source.functions
-- proves: The function is declared stable or immutable.
-- does not prove: Who changed it, or when.
-- meaning: After a wait for the lock it sees the task as it was before the wait, and configurations of deleted tasks are
--   made.
-- next: Run the migration of your SDK version again; it replaces the function and its rights.
SELECT 'functions' AS subject, name AS place, CAST(NULL AS BIGINT) AS first_seq, CAST(NULL AS BIGINT) AS last_seq, 1 AS records, 'declared ' || CASE volatility WHEN 's' THEN 'stable' ELSE 'immutable' END AS detail FROM source.functions WHERE intended AND volatility <> 'v'
ORDER BY subject, place, first_seq, last_seq, detail
