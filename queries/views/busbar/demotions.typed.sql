-- view: demotions
-- kind: part
-- about: one row a demoted server: when it was recorded and why.
-- applies: busbar sqlite 9-12
SELECT server, reason, recorded_at FROM raw.mcp_demotions
