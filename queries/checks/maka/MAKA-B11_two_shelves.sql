-- code: MAKA-B11
-- title: An invocation has an opening on both shelves
-- severity: low
-- applies: maka sqlite 16-18
-- params: none
-- examines: raw.runtime_legacy_invocation_openings
-- proves: An event and a row of the legacy shelf open it.
-- does not prove: Harm: the event is what counts.
-- meaning: Dead weight, or a migration that ran twice.
-- next: Nothing at once; look at how the last upgrade went.
SELECT 'runtime_legacy_invocation_openings' AS subject, l.invocation_id AS place, CAST(NULL AS BIGINT) AS first_seq, CAST(NULL AS BIGINT) AS last_seq, 1 AS records,
    'session ' || l.session_id || ', run ' || l.run_id AS detail
FROM raw.runtime_legacy_invocation_openings AS l
WHERE l.invocation_id IN (SELECT invocation_id FROM audit.ledger_events WHERE kind = 'invocation_opened')
ORDER BY subject, place, first_seq, last_seq, detail
