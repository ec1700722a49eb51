-- view: tasks
-- kind: table
-- about: one row a task, of the typed table (era typed) or of the plane records (era plane). decodable: every field could be read.
--   class: what its state is to the task machine (work, interrupted, terminal, unknown).
-- applies: busbar sqlite 8-12, busbar postgres 10-11
SELECT *, CASE WHEN state IN ('submitted', 'working') THEN 'work' WHEN state IN ('input-required', 'auth-required') THEN 'interrupted'
    WHEN state IN ('completed', 'failed', 'canceled', 'rejected') THEN 'terminal' ELSE 'unknown' END AS class
FROM audit.task_fields
