-- code: A2A-F03
-- title: A helper's search path is not pinned to pg_catalog alone
-- severity: high
-- applies: a2a postgres 11-14
-- params: none
-- examines: source.functions
-- proves: The function's settings are not exactly search_path=pg_catalog.
-- does not prove: That somebody used it.
-- meaning: A function with its owner's rights that looks names up in other schemas can be made to run what others put
--   there.
-- next: Run the migration of your SDK version again; it replaces the function and its rights.
SELECT 'functions' AS subject, name AS place, CAST(NULL AS BIGINT) AS first_seq, CAST(NULL AS BIGINT) AS last_seq, 1 AS records, 'settings: ' || coalesce(left(settings, 120), 'none') AS detail FROM source.functions WHERE intended AND settings IS DISTINCT FROM 'search_path=pg_catalog'
ORDER BY subject, place, first_seq, last_seq, detail
