-- view: joined_texts
-- kind: part
-- about: one row a record whose digest joins its fields by a bar: the texts that were joined.
-- applies: busbar sqlite 8-12, busbar postgres 10-11
SELECT population, scope, seq, task_id || kind || context_id || principal || agent_id || state AS text
FROM audit.event_fields WHERE decodable AND digest_version IS DISTINCT FROM '2'
