-- code: MAKA-B09
-- title: Events of an invocation that never began
-- severity: high
-- applies: maka sqlite 11-18
-- params: none
-- examines: audit.ledger_events
-- proves: Neither an opening nor a run header is there for it.
-- does not prove: That it was part of a transcript.
-- meaning: No reader shows the events.
-- next: Compare with a backup; events that an upgrade left without their session are MAKA-T13.
SELECT 'runtime_events' AS subject, e.invocation_id AS place, min(e.seq) AS first_seq, max(e.seq) AS last_seq, count(*) AS records,
    'session ' || min(e.session_id) || ', run ' || min(e.run_id) || ': ' || count(*) || ' event(s)' AS detail
FROM audit.ledger_events AS e ANTI JOIN audit.openings AS o ON o.invocation_id = e.invocation_id
WHERE e.session_id <> 'maka_workspace_authority' AND e.kind <> 'invocation_opened'
GROUP BY e.invocation_id
ORDER BY subject, place, first_seq, last_seq, detail
