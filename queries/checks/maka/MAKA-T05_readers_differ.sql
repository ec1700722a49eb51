-- code: MAKA-T05
-- title: The two readers of a session differ
-- severity: high
-- applies: maka sqlite 16-18
-- params: none
-- examines: audit.transcript_facts
-- proves: Pages (query per invocation) and Session view, both computed as the application does, show different rows, orders or
--   refusals; the class says why.
-- does not prove: Which of them is right; pages of other query generations are not computed.
-- meaning: The same conversation reads differently by path. V1, an open run that pages do not show yet, is expected and not
--   listed.
-- next: See docs for the class; an unexplained one is a fault of the store or of this tool.
SELECT 'transcripts' AS subject, session_id AS place, CAST(NULL AS BIGINT) AS first_seq, CAST(NULL AS BIGINT) AS last_seq, greatest(sum(records), 1) AS records,
    code || ': Session view ' || min(view) || ', pages ' || min(pages) || ', first at event ' || coalesce(min(event_id), '') AS detail,
    CASE WHEN code IN ('V9', 'V10', 'V22', 'V24') THEN 'info' WHEN code = 'V16' THEN 'low' WHEN code IN ('V3', 'V5', 'V6', 'V7', 'V8', 'V17') THEN 'medium'
        ELSE 'high' END AS severity
FROM audit.transcript_facts WHERE fact = 'divergence' AND code <> 'V1' AND (view <> 'refused' OR pages <> 'refused')
GROUP BY session_id, code
ORDER BY subject, place, first_seq, last_seq, detail
