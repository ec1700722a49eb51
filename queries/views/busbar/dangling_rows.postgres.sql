-- view: dangling_rows
-- kind: part
-- about: one row a row that points to a row that is not there.
-- applies: busbar postgres 6-11
SELECT 'credentials' AS table_name, c.id AS row_key, 'keys' AS parent
FROM raw.credentials AS c ANTI JOIN raw.keys AS k ON k.id = c.key_id
