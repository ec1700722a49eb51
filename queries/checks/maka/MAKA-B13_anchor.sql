-- code: MAKA-B13
-- title: An opening on the legacy shelf is anchored to nothing, or to another run
-- severity: high
-- applies: maka sqlite 16-18
-- params: none
-- examines: raw.runtime_legacy_invocation_openings
-- proves: Its anchor is not the first event of the invocation.
-- does not prove: Which reader shows the run.
-- meaning: A run listed by one reader may not be served by the other (V15).
-- next: Compare with a backup from before the upgrade.
SELECT 'runtime_legacy_invocation_openings' AS subject, l.invocation_id AS place, CAST(NULL AS BIGINT) AS first_seq, CAST(NULL AS BIGINT) AS last_seq, 1 AS records,
    CASE WHEN e.event_id IS NULL THEN 'its anchor is not there' ELSE 'its anchor is event ' || e.seq || ' of invocation ' || e.invocation_id END AS detail
FROM raw.runtime_legacy_invocation_openings AS l LEFT JOIN audit.ledger_events AS e ON e.event_id = l.anchor_event_id
WHERE e.event_id IS NULL OR e.invocation_id <> l.invocation_id OR e.session_id <> l.session_id OR e.run_id <> l.run_id
    OR e.turn_id <> l.turn_id OR e.seq <> 1
ORDER BY subject, place, first_seq, last_seq, detail
