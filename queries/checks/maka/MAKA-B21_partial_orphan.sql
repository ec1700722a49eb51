-- code: MAKA-B21
-- title: Live text of a run without an event
-- severity: info
-- applies: maka sqlite 4-18
-- params: none
-- examines: raw.runtime_partial_snapshots
-- proves: No event of the run is there.
-- does not prove: A loss.
-- meaning: The run was cut before its first event.
-- next: Nothing.
SELECT 'runtime_partial_snapshots' AS subject, p.stream_key AS place, CAST(NULL AS BIGINT) AS first_seq, CAST(NULL AS BIGINT) AS last_seq, 1 AS records,
    'session ' || p.session_id || ', run ' || p.run_id AS detail
FROM raw.runtime_partial_snapshots AS p ANTI JOIN audit.ledger_events AS e ON e.session_id = p.session_id AND e.run_id = p.run_id
ORDER BY subject, place, first_seq, last_seq, detail
