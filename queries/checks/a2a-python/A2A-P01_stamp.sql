-- code: A2A-P01
-- title: The shape is not what the stamp says
-- severity: high
-- applies: a2a-python postgres 1-4, a2a-python sqlite 1-4
-- params: none
-- examines: source.store
-- proves: The revision that is stamped, or that other columns imply, has tables or columns that are not here.
-- does not prove: Who removed them: the migration tool stamps a database whose tables it skipped.
-- meaning: A green version row proves nothing; the service fails on what is missing.
-- next: Let the SDK make its tables, then run its migrations again on a copy.
SELECT table_name AS subject, name AS place, CAST(NULL AS BIGINT) AS first_seq, CAST(NULL AS BIGINT) AS last_seq, 1 AS records, detail AS detail FROM source.differences WHERE kind IN ('table-missing', 'table-differs')
ORDER BY subject, place, first_seq, last_seq, detail
