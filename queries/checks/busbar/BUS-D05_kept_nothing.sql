-- code: BUS-D05
-- title: The store accepted writes and kept nothing
-- severity: critical
-- applies: busbar sqlite 5-12, busbar postgres 6-11
-- params: none
-- needs: --restart-proof
-- examines: source.restart_rows
-- proves: The write command succeeded and the store holds no row afterwards that was not there before.
-- does not prove: That the gateway failed: the command may have written to another store.
-- meaning: The gateway answers well and keeps no evidence.
-- next: Check that gateway and audit mean the same file (a relative path makes a new one) or the same database and schema, then the versions of plug-in and gateway.
SELECT 'store' AS subject, 'write' AS place, CAST(NULL AS BIGINT) AS first_seq, CAST(NULL AS BIGINT) AS last_seq, 1 AS records,
    'not one new row after the write command; ' || (SELECT count(*) FROM source.restart_rows WHERE phase = 'written') || ' rows before and after' AS detail
WHERE NOT EXISTS (
    SELECT 1 FROM source.restart_rows AS w
    WHERE w.phase = 'written' AND NOT EXISTS (
        SELECT 1 FROM source.restart_rows AS b WHERE b.phase = 'before' AND b.subject = w.subject AND b.place = w.place AND b.digest = w.digest)
)
ORDER BY subject, place, first_seq, last_seq, detail
