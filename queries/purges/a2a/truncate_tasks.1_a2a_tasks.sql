-- verb: truncate_tasks
-- table: a2a_tasks
-- about: what an operator runs; with the foreign key of generation 3 the server refuses it.
-- applies: a2a postgres 1-2, a2a postgres 11-14
-- params: none
TRUNCATE a2a_tasks
