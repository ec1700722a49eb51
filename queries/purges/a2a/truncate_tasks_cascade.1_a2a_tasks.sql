-- verb: truncate_tasks_cascade
-- table: a2a_tasks
-- about: what an operator runs; it empties the other table, tasks of others included.
-- applies: a2a postgres 3
-- params: none
TRUNCATE a2a_tasks CASCADE
