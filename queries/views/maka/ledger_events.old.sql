-- view: ledger_events
-- kind: table
-- about: one event of the ledger with what was decoded of it; ordinal is its place in the session, here always NULL.
-- applies: maka sqlite 4-10
SELECT e.event_id, e.session_id, e.invocation_id, e.run_id, e.turn_id, e.event_seq AS seq, e.event_kind AS kind, e.committed_at,
    CAST(NULL AS BIGINT) AS ordinal, f.*
FROM raw.runtime_events AS e JOIN source.event_facts AS f ON f.row = e._row
