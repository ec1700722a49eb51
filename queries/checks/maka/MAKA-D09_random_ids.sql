-- code: MAKA-D09
-- title: A conversion with random event ids
-- severity: info
-- applies: maka sqlite 11-18
-- params: none
-- examines: audit.ledger_events
-- proves: Ids of the run's events are not derived from the run's.
-- does not prove: A fault: earlier converters did so.
-- meaning: Written by an early converter, or resumed from one.
-- next: Nothing.
SELECT 'runtime_events' AS subject, run_id AS place, min(seq) AS first_seq, max(seq) AS last_seq, count(*) AS records,
    'session ' || session_id || ': ' || count(*) || ' event(s)' AS detail
FROM audit.ledger_events WHERE starts_with(run_id, 'transcript-') AND NOT starts_with(event_id, run_id || '-') GROUP BY session_id, run_id
ORDER BY subject, place, first_seq, last_seq, detail
