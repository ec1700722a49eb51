-- code: MAKA-B04
-- title: A place in a session refers to no event
-- severity: high
-- applies: maka sqlite 11-18
-- params: none
-- examines: raw.runtime_session_event_ordinals
-- proves: The event is not there.
-- does not prove: What it was.
-- meaning: Resequencing this session fails.
-- next: Compare with a backup.
SELECT 'runtime_session_event_ordinals' AS subject, o.session_id AS place, o.ordinal AS first_seq, o.ordinal AS last_seq, 1 AS records,
    'event ' || o.event_id || ' is not there' AS detail
FROM raw.runtime_session_event_ordinals AS o ANTI JOIN audit.ledger_events AS e ON e.event_id = o.event_id
ORDER BY subject, place, first_seq, last_seq, detail
