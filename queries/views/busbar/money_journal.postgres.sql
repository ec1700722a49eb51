-- view: money_journal
-- kind: part
-- about: one row a record of the money journal.
-- applies: busbar postgres 11
SELECT stream, seq FROM raw.store_journal
