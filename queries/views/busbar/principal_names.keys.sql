-- view: principal_names
-- kind: part
-- about: names of principals as keys, calls and task events have them.
-- applies: busbar sqlite 5-12, busbar postgres 6-11
SELECT id AS principal FROM raw.keys WHERE id IS NOT NULL
