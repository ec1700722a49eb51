-- code: MAKA-B33
-- title: A continuation claim whose start is not what it says
-- severity: high
-- applies: maka sqlite 6-18
-- params: none
-- examines: raw.runtime_continuation_claims
-- proves: Event and kind of its start are not both there, or the event is not the first of its run.
-- does not prove: Which is right.
-- meaning: The authority check fails for every append in the store.
-- next: Restore claims and ledger from the same backup.
SELECT 'runtime_continuation_claims' AS subject, k.claim_id AS place, CAST(NULL AS BIGINT) AS first_seq, CAST(NULL AS BIGINT) AS last_seq, 1 AS records,
    'target run ' || k.target_run_id || ': ' || CASE WHEN (k.start_event_id IS NULL) <> (k.start_kind IS NULL) THEN 'half of its start is missing'
        WHEN e.event_id IS NULL THEN 'its start is not there' ELSE 'its start is event ' || e.seq || ' of run ' || e.run_id END AS detail
FROM raw.runtime_continuation_claims AS k LEFT JOIN audit.ledger_events AS e ON e.event_id = k.start_event_id
WHERE (k.start_event_id IS NULL) <> (k.start_kind IS NULL)
    OR (k.start_event_id IS NOT NULL AND (e.event_id IS NULL OR e.seq <> 1 OR e.run_id <> k.target_run_id))
ORDER BY subject, place, first_seq, last_seq, detail
