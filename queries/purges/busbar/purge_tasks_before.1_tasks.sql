-- verb: purge_tasks_before
-- table: tasks
-- about: what the verb runs on tasks, in the words of the store.
-- applies: busbar sqlite 8-9
-- params: cutoff hugeint
DELETE FROM tasks WHERE updated_at < $cutoff AND state IN ('completed', 'failed', 'canceled', 'rejected')
