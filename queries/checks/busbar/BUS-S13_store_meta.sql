-- code: BUS-S13
-- title: A table that nothing writes has rows
-- severity: low
-- applies: busbar sqlite 5-12
-- params: none
-- examines: source.tables
-- proves: store_meta is not empty.
-- does not prove: Who wrote it.
-- meaning: An unknown program writes to this store.
-- next: Look at the rows and find the writer.
SELECT 'store_meta' AS subject, k AS place, CAST(NULL AS BIGINT) AS first_seq, CAST(NULL AS BIGINT) AS last_seq, 1 AS records,
    'a value of ' || coalesce(strlen(v), 0) || ' bytes' AS detail
FROM raw.store_meta
ORDER BY subject, place, first_seq, last_seq, detail
