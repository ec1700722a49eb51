-- code: A2A-D14
-- title: A sequence is behind its rows
-- severity: high
-- applies: a2a postgres 2-14
-- params: none
-- examines: audit.sequence_positions
-- proves: The highest created_sequence is above the sequence's position.
-- does not prove: That a value was given twice already (A2A-D13 tells).
-- meaning: The next rows repeat values. A restore of data alone does this.
-- next: setval to the highest value of the table.
SELECT table_name AS subject, name AS place, last_value AS first_seq, highest AS last_seq, greatest(highest - last_value, 1) AS records,
    'the sequence is at ' || last_value || CASE WHEN is_called THEN '' ELSE ' (not yet given)' END || ', the rows reach ' || highest AS detail
FROM audit.sequence_positions WHERE highest > last_value OR (highest = last_value AND NOT is_called)
ORDER BY subject, place, first_seq, last_seq, detail
