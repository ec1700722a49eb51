-- code: MAKA-D10
-- title: A converted run's events are not numbered 1 to n, or not in the order of its rows
-- severity: low
-- applies: maka sqlite 16-18
-- params: none
-- examines: audit.ledger_events
-- proves: A derived number is missing or stands twice, and no event with a random id stands for it; or an event stands before one whose
--   row is earlier.
-- does not prove: A loss: another build may have numbered them.
-- meaning: Several builds converted the turn, an event was removed, or events changed places.
-- next: Compare with the turn's rows.
WITH numbered AS (
    SELECT *, TRY_CAST(nullif(regexp_extract(event_id, '-e([0-9]{1,9})$', 1), '') AS BIGINT) AS n FROM audit.ledger_events
    WHERE starts_with(run_id, 'transcript-') AND starts_with(event_id, run_id || '-e') AND kind <> 'invocation_opened'
), counted AS (
    SELECT run_id, count(*) AS events FROM audit.ledger_events
    WHERE starts_with(run_id, 'transcript-') AND kind <> 'invocation_opened' GROUP BY run_id
), placed AS (
    SELECT session_id, run_id, seq, (message_ts, sequence, part) AS here,
        lag((message_ts, sequence, part)) OVER (PARTITION BY run_id ORDER BY seq) AS earlier
    FROM audit.import_pairs WHERE event_id IS NOT NULL AND starts_with(run_id, 'transcript-') AND meant <> 'turn_state'
)
SELECT 'runtime_events' AS subject, n.run_id AS place, min(n.seq) AS first_seq, max(n.seq) AS last_seq, count(*) AS records,
    'session ' || min(n.session_id) || ': ' || min(c.events) || ' event(s), numbers up to ' || max(n.n) AS detail
FROM numbered AS n JOIN counted AS c ON c.run_id = n.run_id
GROUP BY n.run_id HAVING max(n.n) > min(c.events) OR count(n.n) <> count(DISTINCT n.n)
UNION ALL
SELECT 'runtime_events', run_id, min(seq), max(seq), count(*), 'session ' || min(session_id) || ': ' || count(*) || ' event(s) after one of a later row'
FROM placed WHERE here < earlier GROUP BY run_id
ORDER BY subject, place, first_seq, last_seq, detail
