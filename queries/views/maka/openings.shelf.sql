-- view: openings
-- kind: part
-- about: how one invocation began; an event stands before the legacy shelf, and in older stores there are run headers.
-- applies: maka sqlite 16-18
SELECT l.invocation_id, l.session_id, l.run_id, l.turn_id, 'legacy' AS shelf, CAST(l.opened_at AS DOUBLE) AS opened_at,
    l.anchor_event_id AS at_event, f.source_kind, f.parent_run, f.agent, f.opening_problem AS problem
FROM raw.runtime_legacy_invocation_openings AS l JOIN source.opening_facts AS f ON f.invocation_id = l.invocation_id
    ANTI JOIN (SELECT invocation_id FROM audit.ledger_events WHERE kind = 'invocation_opened') AS e ON e.invocation_id = l.invocation_id
