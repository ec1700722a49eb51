-- code: A2A-G07
-- title: A table is unlogged
-- severity: high
-- applies: a2a postgres 1-14
-- params: none
-- examines: source.relations
-- proves: relpersistence is not permanent.
-- does not prove: That rows were lost already.
-- meaning: The table is emptied after a crash and absent on replicas.
-- next: ALTER TABLE … SET LOGGED at a quiet time: it rewrites the table.
SELECT name AS subject, name AS place, CAST(NULL AS BIGINT) AS first_seq, CAST(NULL AS BIGINT) AS last_seq, 1 AS records, 'relpersistence ' || persistence AS detail FROM source.relations WHERE persistence <> 'p'
ORDER BY subject, place, first_seq, last_seq, detail
