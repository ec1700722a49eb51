-- view: principals
-- kind: table
-- about: every principal once, as keys, calls and task events name it.
-- applies: busbar sqlite 5-12, busbar postgres 6-11
SELECT DISTINCT principal FROM audit.principal_names
