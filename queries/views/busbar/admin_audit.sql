-- view: admin_audit
-- kind: table
-- about: one row an admin audit record of either population (audit_log, kind audit), its fields in columns. Bodies are read once, here.
-- applies: busbar sqlite 5-12, busbar postgres 6-11
SELECT population, scope, seq, ts, action, resource, outcome, principal, hash, decodable, variant, row
FROM audit.audit_fields
