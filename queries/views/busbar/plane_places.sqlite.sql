-- view: plane_places
-- kind: part
-- about: one row a plane record by where it stands: kind, the identity it is found under, id, parent, seq.
-- applies: busbar sqlite 10-12
SELECT kind, identity, id, parent, seq FROM raw.plane_records
