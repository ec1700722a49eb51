-- verb: delete_before
-- table: a2a_tasks
-- about: what an operator runs; the SDK itself never deletes a task.
-- applies: a2a postgres 1-3, a2a postgres 11-14
-- params: cutoff hugeint
DELETE FROM a2a_tasks WHERE updated_at < to_timestamp($cutoff)
