-- view: money_journal
-- kind: part
-- about: one row a record of the money journal.
-- applies: busbar sqlite 11-12
SELECT stream, seq FROM raw.journal
