-- view: write_populations
-- kind: part
-- about: one row a population that this generation writes, and its records, none included.
-- applies: busbar sqlite 9-12, busbar postgres 10-11
SELECT 4 AS place, 'approvals' AS population, count(*) AS records FROM audit.approvals
