-- view: import_found
-- kind: table
-- about: one event that a row can be due as, of a converted run or a native one, numbered as the facts of rows are.
-- applies: maka sqlite 8-18
WITH events AS (
    SELECT e.session_id, e.turn_id, e.invocation_id, e.run_id, i.run_id = i.derived AS converted, e.event_id, e.seq, e.meant, e.meaning,
        e.stored_id, e.message_key, coalesce(e.generated_at, 0) AS generated_at
    FROM audit.ledger_events AS e JOIN audit.import_invocations AS i ON i.invocation_id = e.invocation_id AND i.run_id = e.run_id
    WHERE e.meant IS NOT NULL AND NOT (e.meant = 'user' AND e.steering)
)
SELECT *, row_number() OVER (PARTITION BY converted, session_id, turn_id, stored_id, meant ORDER BY seq) AS alike,
    row_number() OVER (PARTITION BY converted, session_id, turn_id, meant, meaning ORDER BY seq) AS same
FROM events
