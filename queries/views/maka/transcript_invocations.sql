-- view: transcript_invocations
-- kind: view
-- about: one invocation of a session's own transcript, by its opening or by its events where it has none.
-- applies: maka sqlite 11-18
SELECT session_id, turn_id, run_id, invocation_id FROM audit.inline_invocations
UNION
SELECT e.session_id, e.turn_id, e.run_id, e.invocation_id
FROM (SELECT DISTINCT session_id, turn_id, run_id, invocation_id FROM audit.ledger_events) AS e
    ANTI JOIN audit.openings AS o ON o.invocation_id = e.invocation_id
WHERE e.session_id <> 'maka_workspace_authority'
