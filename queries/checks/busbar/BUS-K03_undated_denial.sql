-- code: BUS-K03
-- title: A denial without a time
-- severity: low
-- applies: busbar sqlite 5-12, busbar postgres 6-11
-- params: none
-- examines: raw.denylist
-- proves: created_at is 0.
-- does not prove: An edit: old plug-ins did not write it.
-- meaning: Whether calls came after the denial cannot be told.
-- next: Take the time from the gateway log.
SELECT 'denylist' AS subject, coalesce(sub, '') AS place, CAST(NULL AS BIGINT) AS first_seq, CAST(NULL AS BIGINT) AS last_seq, 1 AS records, 'created_at is 0' AS detail
FROM raw.denylist WHERE created_at = 0
ORDER BY subject, place, first_seq, last_seq, detail
