-- code: BUS-S10
-- title: Work of a development generation was left behind
-- severity: high
-- applies: busbar postgres 10-11
-- params: none
-- examines: source.tables
-- proves: a typed table of generations 7 to 9 is still there with rows; the upgrade on PostgreSQL keeps such tables, reads them
--   no more and copies nothing.
-- does not prove: that the rows still matter: tasks in flight do, spent approvals do not.
-- meaning: Tasks, events, calls, demotions or approvals from before the upgrade are invisible to the gateway that runs now.
-- next: List the tasks that were not finished and settle them by hand; keep the tables until they are exported.
SELECT name AS subject, name AS place, CAST(NULL AS BIGINT) AS first_seq, CAST(NULL AS BIGINT) AS last_seq, rows AS records,
    CASE WHEN rows IS NULL THEN 'the table may not be read by this role, but holds ' || bytes || ' bytes'
        ELSE 'the table has ' || rows || ' rows the gateway does not read' END AS detail
FROM source.tables WHERE state = 'legacy' AND (rows > 0 OR (rows IS NULL AND bytes > 0))
ORDER BY subject, place, first_seq, last_seq, detail
