-- view: plane_rows
-- kind: part
-- about: one row a plane record that belongs to a chain, as it stands in the store.
-- applies: busbar sqlite 10-12
SELECT _row, kind, parent, seq, id, ts, disposition, body FROM raw.plane_records WHERE parent IS NOT NULL
