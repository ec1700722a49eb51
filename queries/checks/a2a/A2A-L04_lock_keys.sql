-- code: A2A-L04
-- title: The two locks use different keys
-- severity: critical
-- applies: a2a postgres 13-14
-- params: none
-- examines: source.functions
-- proves: The push lock and the delete lock hash another literal, so that their keys for the same task differ.
-- does not prove: That an orphan came of it already (A2A-D01 tells).
-- meaning: A creation does not wait for a delete of the same task; the SDK's own validation does not notice.
-- next: Install both helpers from the same source: the manual's SQL or the SDK's initialiser, not one of each.
SELECT 'functions' AS subject, p.name AS place, CAST(NULL AS BIGINT) AS first_seq, CAST(NULL AS BIGINT) AS last_seq, 1 AS records, 'keys are made with ' || left(p.lock_key, 140) || ' and with ' || left(d.lock_key, 140) AS detail
FROM source.functions AS p JOIN source.functions AS d ON p.name = 'a2a_lock_task_for_push_config' AND d.name = 'a2a_lock_task_for_delete' AND p.intended AND d.intended
WHERE p.lock_key <> '' AND d.lock_key <> '' AND p.lock_key <> d.lock_key
ORDER BY subject, place, first_seq, last_seq, detail
