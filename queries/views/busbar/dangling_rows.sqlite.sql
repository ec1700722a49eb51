-- view: dangling_rows
-- kind: part
-- about: one row a row that points to a row that is not there.
-- applies: busbar sqlite 0-999
SELECT table_name, row_key, parent FROM source.foreign_keys
