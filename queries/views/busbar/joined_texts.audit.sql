-- view: joined_texts
-- kind: part
-- about: one row a record whose digest joins its fields by a bar: the texts that were joined.
-- applies: busbar sqlite 5-12, busbar postgres 6-11
SELECT population, scope, seq, action || resource || outcome || principal AS text
FROM audit.audit_fields WHERE decodable AND variant IN ('typed', 'legacy')
