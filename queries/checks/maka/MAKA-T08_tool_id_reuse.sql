-- code: MAKA-T08
-- title: Two tools of a session share one tool use id
-- severity: low
-- applies: maka sqlite 4-18
-- params: none
-- examines: audit.ledger_events
-- proves: Calls with one id name different tools.
-- does not prove: A fault of the data: providers number calls by turn.
-- meaning: A permission row of the second may make the Session view throw (V8).
-- next: Open the session in the build in use.
SELECT 'runtime_events' AS subject, session_id AS place, CAST(NULL AS BIGINT) AS first_seq, CAST(NULL AS BIGINT) AS last_seq, count(*) AS records,
    count(DISTINCT tool_name) || ' tools with tool use ' || tool_use_id AS detail
FROM audit.ledger_events WHERE content_kind = 'function_call' GROUP BY session_id, tool_use_id HAVING count(DISTINCT tool_name) > 1
ORDER BY subject, place, first_seq, last_seq, detail
