-- code: MAKA-A10
-- title: Payloads are not in canonical form
-- severity: info
-- applies: maka sqlite 4-18
-- params: none
-- examines: audit.ledger_events
-- proves: The text differs from the key-sorted encoding of its value.
-- does not prove: A change: releases before v0.1.8 wrote another order.
-- meaning: Equality is decided on values, so nothing breaks.
-- next: Nothing, unless later releases wrote the session: then the row was edited.
SELECT 'runtime_events' AS subject, session_id AS place, CAST(NULL AS BIGINT) AS first_seq, CAST(NULL AS BIGINT) AS last_seq, count(*) AS records,
    count(*) || ' event(s) in another order or spelling' AS detail
FROM audit.ledger_events WHERE valid AND NOT canonical GROUP BY session_id
ORDER BY subject, place, first_seq, last_seq, detail
