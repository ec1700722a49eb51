-- code: MAKA-B16
-- title: Events after the end of their invocation
-- severity: low
-- applies: maka sqlite 4-18
-- params: none
-- examines: audit.ledger_events
-- proves: They have a later number than the first terminal.
-- does not prove: A fault: builds before the seal allowed it.
-- meaning: The Session view shows them, pages do not.
-- next: Look at which build wrote them.
WITH ended AS (SELECT invocation_id, min(seq) AS at FROM audit.terminals GROUP BY invocation_id)
SELECT 'runtime_events' AS subject, e.invocation_id AS place, min(e.seq) AS first_seq, max(e.seq) AS last_seq, count(*) AS records,
    'session ' || min(e.session_id) || ': ' || count(*) || ' event(s) after the end at ' || min(t.at) AS detail
FROM audit.ledger_events AS e JOIN ended AS t ON t.invocation_id = e.invocation_id WHERE e.seq > t.at GROUP BY e.invocation_id
ORDER BY subject, place, first_seq, last_seq, detail
