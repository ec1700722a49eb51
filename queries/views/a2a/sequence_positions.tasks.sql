-- view: sequence_positions
-- kind: part
-- about: one row a created sequence that may be read: its position, and the highest value that a row has.
-- applies: a2a postgres 2-14
SELECT s.table_name, s.name, s.last_value, s.is_called, (SELECT max(created_sequence) FROM audit.tasks) AS highest
FROM source.sequences AS s WHERE s.readable AND s.table_name = 'a2a_tasks'
