-- code: A2A-F04
-- title: PUBLIC may execute a helper
-- severity: critical
-- applies: a2a postgres 11-14
-- params: none
-- examines: source.functions
-- proves: EXECUTE is granted to PUBLIC, or the function has no grants of its own, which means the same.
-- does not prove: That anybody did.
-- meaning: Everybody may call a function that runs with its owner's rights. A restore without privileges does this; the SDK
--   refuses to start.
-- next: REVOKE ALL ON FUNCTION … FROM PUBLIC, and grant EXECUTE to the SDK's role alone.
SELECT 'functions' AS subject, name AS place, CAST(NULL AS BIGINT) AS first_seq, CAST(NULL AS BIGINT) AS last_seq, 1 AS records, 'EXECUTE for PUBLIC' AS detail FROM source.functions WHERE intended AND public_execute
ORDER BY subject, place, first_seq, last_seq, detail
