-- verb: purge_mcp_calls_before
-- table: mcp_calls
-- about: what the verb runs on mcp_calls, in the words of the store.
-- applies: busbar sqlite 7-9
-- params: cutoff hugeint
DELETE FROM mcp_calls WHERE ts < $cutoff
