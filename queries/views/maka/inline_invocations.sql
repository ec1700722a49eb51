-- view: inline_invocations
-- kind: view
-- about: one invocation that is part of its session's own transcript, and not of a subagent's.
-- applies: maka sqlite 5-18
SELECT * FROM audit.openings WHERE NOT parent_run OR (source_kind <> 'fresh' AND NOT agent)
