-- view: ledger_events
-- kind: table
-- about: one event of the ledger with what was decoded of it; ordinal is its place in the session, NULL where it has none.
-- applies: maka sqlite 11-18
WITH places AS (
    SELECT session_id, event_id, min(ordinal) AS ordinal FROM raw.runtime_session_event_ordinals GROUP BY session_id, event_id
)
SELECT e.event_id, e.session_id, e.invocation_id, e.run_id, e.turn_id, e.event_seq AS seq, e.event_kind AS kind, e.committed_at,
    p.ordinal, f.*
FROM raw.runtime_events AS e JOIN source.event_facts AS f ON f.row = e._row 
    LEFT JOIN places AS p ON p.event_id = e.event_id AND p.session_id = e.session_id
