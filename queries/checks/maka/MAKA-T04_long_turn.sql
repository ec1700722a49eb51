-- code: MAKA-T04
-- title: A turn of more rows than a page holds
-- severity: info
-- applies: maka sqlite 11-18
-- params: none
-- examines: audit.transcript_facts
-- proves: The turn has more than 256 rows, or its events have more than 16 MiB.
-- does not prove: A fault.
-- meaning: Clients that fetch a turn as one range refuse it.
-- next: Nothing with a later client.
WITH held AS (SELECT session_id, turn_id, sum(bytes) AS bytes FROM audit.ledger_events GROUP BY session_id, turn_id)
SELECT 'transcripts' AS subject, t.session_id AS place, CAST(NULL AS BIGINT) AS first_seq, CAST(NULL AS BIGINT) AS last_seq, t.records AS records,
    'turn ' || t.turn_id || ': ' || t.records || ' rows, ' || coalesce(h.bytes, 0) || ' bytes of events' AS detail
FROM audit.transcript_facts AS t LEFT JOIN held AS h ON h.session_id = t.session_id AND h.turn_id = t.turn_id
WHERE t.fact = 'turn' AND (t.records > 256 OR h.bytes > 16777216)
ORDER BY subject, place, first_seq, last_seq, detail
