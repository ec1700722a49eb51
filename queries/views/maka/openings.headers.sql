-- view: openings
-- kind: part
-- about: how one invocation began; an event stands before the legacy shelf, and in older stores there are run headers.
-- applies: maka sqlite 5-15
SELECT f.invocation_id, f.session_id, f.run_id, f.turn_id, 'header' AS shelf, coalesce(f.opened_at, r.created_at) AS opened_at,
    CAST(NULL AS VARCHAR) AS at_event, coalesce(f.source_kind, 'fresh') AS source_kind, coalesce(f.parent_run, false) AS parent_run,
    coalesce(f.agent, false) AS agent, f.problem
FROM source.header_facts AS f JOIN raw.core_agent_runs AS r ON r.session_id = f.session_id AND r.run_id = f.run_id
