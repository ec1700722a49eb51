-- view: write_populations
-- kind: part
-- about: one row a population that this generation writes, and its records, none included.
-- applies: busbar sqlite 5-12, busbar postgres 6-11
SELECT 5 AS place, 'admin audit' AS population, count(*) AS records FROM audit.admin_audit
UNION ALL
SELECT 6, 'usage', count(*) FROM audit.usage_windows
UNION ALL
SELECT 7, 'metering', count(*) FROM audit.metering
