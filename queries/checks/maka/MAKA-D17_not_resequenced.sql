-- code: MAKA-D17
-- title: Converted turns stand after newer ones
-- severity: low
-- applies: maka sqlite 16-18
-- params: none
-- examines: audit.openings
-- proves: In a session with converted turns, an invocation opened earlier has a later place.
-- does not prove: A loss.
-- meaning: A crash before the last step of the conversion; old turns read after new ones.
-- next: Open the session once with the build that converts, on a copy first.
WITH placed AS (
    SELECT o.session_id, o.opened_at, n.ordinal FROM audit.openings AS o JOIN audit.ledger_events AS n ON n.event_id = o.at_event
    WHERE o.session_id IN (SELECT session_id FROM audit.openings WHERE starts_with(run_id, 'transcript-'))
), compared AS (SELECT *, lag(opened_at) OVER (PARTITION BY session_id ORDER BY ordinal) AS before FROM placed)
SELECT 'openings' AS subject, session_id AS place, min(ordinal) AS first_seq, max(ordinal) AS last_seq, count(*) AS records,
    count(*) || ' turn(s) opened before the one they follow' AS detail
FROM compared WHERE opened_at < before GROUP BY session_id
ORDER BY subject, place, first_seq, last_seq, detail
