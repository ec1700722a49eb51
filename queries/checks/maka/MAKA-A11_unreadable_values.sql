-- code: MAKA-A11
-- title: A value cannot be read as what its column holds
-- severity: high
-- applies: maka sqlite 4-18
-- params: none
-- loads: all
-- examines: source.tables
-- proves: Text that is not UTF-8, or a value of another storage class than the column has.
-- does not prove: What the value was meant to be.
-- meaning: The row is left out where the value is needed.
-- next: Look at the row with a hex viewer and compare with a backup.
SELECT table_name AS subject, row_key AS place, CAST(NULL AS BIGINT) AS first_seq, CAST(NULL AS BIGINT) AS last_seq, 1 AS records,
    'column ' || column_name || ': ' || reason AS detail
FROM raw.rejects
-- A time with a fraction of a millisecond is legal, and SQLite keeps it as another class than whole ones.
WHERE NOT (column_name IN ('committed_at', 'message_ts', 'opened_at') AND reason = 'storage class real, expected integer')
ORDER BY subject, place, first_seq, last_seq, detail
