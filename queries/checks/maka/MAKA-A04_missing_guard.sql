-- code: MAKA-A04
-- title: A table, column or index that the application relies on is missing
-- severity: high
-- applies: maka sqlite 4-18
-- params: none
-- examines: source.tables
-- proves: The generation has it and this store has not.
-- does not prove: Who removed it.
-- meaning: What the index forbade may have happened since, and checks over a missing table or column are held back.
-- next: Compare with a fresh workspace of the same version; upgrade only a copy until it is explained.
SELECT table_name AS subject, name AS place, CAST(NULL AS BIGINT) AS first_seq, CAST(NULL AS BIGINT) AS last_seq, 1 AS records,
    kind || ': ' || detail AS detail
FROM source.differences
ORDER BY subject, place, first_seq, last_seq, detail
