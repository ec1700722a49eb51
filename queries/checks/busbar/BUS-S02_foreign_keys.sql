-- code: BUS-S02
-- title: Rows point to rows that do not exist
-- severity: high
-- applies: busbar sqlite 5-12, busbar postgres 6-11
-- params: none
-- examines: source.tables
-- proves: A row names a parent row that is not in the copy (foreign_key_check).
-- does not prove: Whether the parent was deleted or never written.
-- meaning: A credential without its key can outlive the key it was issued for.
-- next: Look at the rows; if the key was deleted, its credentials had to go with it: revoke them at the gateway.
SELECT table_name AS subject, row_key AS place, CAST(NULL AS BIGINT) AS first_seq, CAST(NULL AS BIGINT) AS last_seq, 1 AS records,
    'the row points to a missing row of ' || parent AS detail
FROM audit.dangling_rows
ORDER BY subject, place, first_seq, last_seq, detail
