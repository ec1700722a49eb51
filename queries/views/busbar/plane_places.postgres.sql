-- view: plane_places
-- kind: part
-- about: one row a plane record by where it stands: kind, the identity it is found under, id, parent, seq.
-- applies: busbar postgres 10-11
-- On this engine a record is found by its own columns; there is no identity beside them that could differ.
SELECT kind, coalesce(parent, id) AS identity, id, parent, seq FROM raw.plane_records
UNION ALL
SELECT kind, parent, id, parent, seq FROM raw.plane_chain
