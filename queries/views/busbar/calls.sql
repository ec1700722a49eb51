-- view: calls
-- kind: view
-- about: one row a call of either population (mcp_calls, kind call), its fields in columns. Bodies are read once, here.
-- applies: busbar sqlite 7-12, busbar postgres 10-11
SELECT population, scope, principal, seq, ts, server, tool, outcome, reason, tool_digest, pin_generation, request_id,
    decodable, members, canonical, row
FROM audit.call_fields
