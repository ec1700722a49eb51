-- view: principal_names
-- kind: part
-- about: names of principals as keys, calls and task events have them.
-- applies: busbar sqlite 7-12, busbar postgres 10-11
SELECT DISTINCT principal FROM audit.calls WHERE principal IS NOT NULL
