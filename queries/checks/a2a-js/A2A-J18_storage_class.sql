-- code: A2A-J18
-- title: Values of another kind than the column holds
-- severity: high
-- applies: a2a-js sqlite 1
-- params: none
-- loads: all
-- examines: source.tables
-- proves: A value has another storage class than the SDK writes there, or is no UTF-8; it was left out of every other check.
-- does not prove: What it was meant to be.
-- meaning: The row was written by other means, or is damaged.
-- next: Look at the row, and write it again through the SDK.
SELECT table_name AS subject, row_key || ' ' || column_name AS place, CAST(NULL AS BIGINT) AS first_seq, CAST(NULL AS BIGINT) AS last_seq, 1 AS records,
    reason AS detail
FROM raw.rejects
ORDER BY subject, place, first_seq, last_seq, detail
