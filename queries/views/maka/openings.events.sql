-- view: openings
-- kind: part
-- about: how one invocation began; an event stands before the legacy shelf, and in older stores there are run headers.
-- applies: maka sqlite 16-18
SELECT invocation_id, session_id, run_id, turn_id, 'event' AS shelf, coalesce(opened_at, committed_at) AS opened_at, event_id AS at_event,
    coalesce(source_kind, 'fresh') AS source_kind, coalesce(parent_run, false) AS parent_run, coalesce(agent, false) AS agent,
    opening_problem AS problem
FROM audit.ledger_events WHERE kind = 'invocation_opened' AND valid
