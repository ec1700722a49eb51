-- view: plane_rows
-- kind: part
-- about: one row a plane record that belongs to a chain, as it stands in the store.
-- applies: busbar postgres 10-11
SELECT _row, kind, parent, seq, id, ts, disposition, body FROM raw.plane_chain
