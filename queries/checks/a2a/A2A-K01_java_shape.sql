-- code: A2A-K01
-- title: A table of the Java SDK lacks a column
-- severity: high
-- applies: a2a postgres 20
-- params: none
-- examines: source.relations
-- proves: A column that every version of the Java SDK's stores has is not here.
-- does not prove: Who removed it.
-- meaning: The service fails on it.
-- next: Compare with a fresh store of the same SDK version.
SELECT table_name AS subject, name AS place, CAST(NULL AS BIGINT) AS first_seq, CAST(NULL AS BIGINT) AS last_seq, 1 AS records, detail AS detail
FROM source.differences WHERE kind = 'table-differs' AND name <> ''
ORDER BY subject, place, first_seq, last_seq, detail
