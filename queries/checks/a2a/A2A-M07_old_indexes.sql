-- code: A2A-M07
-- title: Indexes that the generation no longer has
-- severity: low
-- applies: a2a postgres 13-14
-- params: none
-- examines: source.relations
-- proves: An index that the migration drops is still there.
-- does not prove: That it does harm beyond its cost.
-- meaning: Every write of a push configuration pays for it, and it takes space.
-- next: Drop the index, CONCURRENTLY.
SELECT table_name AS subject, name AS place, CAST(NULL AS BIGINT) AS first_seq, CAST(NULL AS BIGINT) AS last_seq, 1 AS records, 'left over from an earlier generation' AS detail
FROM source.indexes WHERE name IN ('idx_a2a_push_configs_task', 'idx_a2a_push_configs_created_sequence')
ORDER BY subject, place, first_seq, last_seq, detail
