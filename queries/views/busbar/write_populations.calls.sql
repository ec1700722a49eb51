-- view: write_populations
-- kind: part
-- about: one row a population that this generation writes, and its records, none included.
-- applies: busbar sqlite 7-12, busbar postgres 10-11
SELECT 1 AS place, 'calls' AS population, count(*) AS records FROM audit.calls
