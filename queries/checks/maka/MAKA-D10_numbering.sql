-- code: MAKA-D10
-- title: Numbers of a converted run's events are not 1 to n
-- severity: low
-- applies: maka sqlite 16-18
-- params: none
-- examines: audit.ledger_events
-- proves: A derived number is missing or stands twice, and no event with a random id stands for it.
-- does not prove: A loss: another build may have numbered them.
-- meaning: Several builds converted the turn, or an event was removed.
-- next: Compare with the turn's rows.
WITH numbered AS (
    SELECT *, TRY_CAST(nullif(regexp_extract(event_id, '-e([0-9]{1,9})$', 1), '') AS BIGINT) AS n FROM audit.ledger_events
    WHERE starts_with(run_id, 'transcript-') AND starts_with(event_id, run_id || '-e') AND kind <> 'invocation_opened'
), counted AS (
    SELECT run_id, count(*) AS events FROM audit.ledger_events
    WHERE starts_with(run_id, 'transcript-') AND kind <> 'invocation_opened' GROUP BY run_id
)
SELECT 'runtime_events' AS subject, n.run_id AS place, min(n.seq) AS first_seq, max(n.seq) AS last_seq, count(*) AS records,
    'session ' || min(n.session_id) || ': ' || min(c.events) || ' event(s), numbers up to ' || max(n.n) AS detail
FROM numbered AS n JOIN counted AS c ON c.run_id = n.run_id
GROUP BY n.run_id HAVING max(n.n) > min(c.events) OR count(n.n) <> count(DISTINCT n.n)
ORDER BY subject, place, first_seq, last_seq, detail
