-- code: BUS-S06
-- title: A table is not what its generation has
-- severity: high
-- applies: busbar sqlite 5-12, busbar postgres 6-11
-- params: none
-- examines: source.tables
-- proves: A table, column, type, NULL rule, default or key differs from the schema of this generation.
-- does not prove: Who changed it.
-- meaning: The store was made by hand, or an upgrade stopped half way; checks on the table may be held back.
-- next: Compare with a fresh store of the same plug-in version. Upgrade only a copy until it is explained.
SELECT table_name AS subject, name AS place, CAST(NULL AS BIGINT) AS first_seq, CAST(NULL AS BIGINT) AS last_seq, 1 AS records,
    kind || ': ' || detail AS detail
FROM source.differences WHERE kind IN ('table-missing', 'table-unknown', 'table-differs')
ORDER BY subject, place, first_seq, last_seq, detail
