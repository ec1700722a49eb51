-- code: MAKA-T13
-- title: Events of a session that is not there
-- severity: low
-- applies: maka sqlite 8-18
-- params: none
-- examines: audit.ledger_events
-- proves: No session has their id, and none was deleted under it.
-- does not prove: That they were ever shown.
-- meaning: History that nothing can open; an upgrade from before the sessions' move leaves this.
-- next: Find the workspace's older files before anything is deleted.
SELECT 'runtime_events' AS subject, e.session_id AS place, CAST(NULL AS BIGINT) AS first_seq, CAST(NULL AS BIGINT) AS last_seq, count(*) AS records,
    count(*) || ' event(s) of ' || count(DISTINCT e.run_id) || ' run(s)' AS detail
FROM audit.ledger_events AS e ANTI JOIN audit.sessions AS s ON s.session_id = e.session_id
WHERE e.session_id <> 'maka_workspace_authority' GROUP BY e.session_id
ORDER BY subject, place, first_seq, last_seq, detail
