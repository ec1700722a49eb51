-- code: MAKA-B03
-- title: A place in one session refers to an event of another
-- severity: high
-- applies: maka sqlite 11-18
-- params: none
-- examines: raw.runtime_session_event_ordinals
-- proves: The ordinal's session is not the event's.
-- does not prove: How it came there.
-- meaning: A row of one conversation would appear in another.
-- next: Compare with a backup.
SELECT 'runtime_session_event_ordinals' AS subject, o.session_id AS place, o.ordinal AS first_seq, o.ordinal AS last_seq, 1 AS records,
    'event ' || o.event_id || ' is of session ' || e.session_id AS detail
FROM raw.runtime_session_event_ordinals AS o JOIN audit.ledger_events AS e ON e.event_id = o.event_id WHERE o.session_id <> e.session_id
ORDER BY subject, place, first_seq, last_seq, detail
