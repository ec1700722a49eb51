-- code: MAKA-T06
-- title: Pages of some sizes lose rows of a session
-- severity: high
-- applies: maka sqlite 16-18
-- params: none
-- examines: audit.transcript_facts
-- proves: A walk through the pages (query per invocation) in that direction, with that many rows in a page, ends without some rows
--   that larger pages serve.
-- does not prove: That a user saw it: the application asks for pages of several sizes. Only sessions in which an event stands before
--   the opening of its invocation are walked; walks of others lose nothing, whatever their size.
-- meaning: Scrolling through the session leaves messages out.
-- next: See MAKA-B12 for the invocation; open the session with a build whose query bounds a run by its events.
SELECT 'transcripts' AS subject, session_id AS place, CAST(NULL AS BIGINT) AS first_seq, CAST(NULL AS BIGINT) AS last_seq,
    max(records) AS records,
    'pages lose rows: ' || string_agg(code || ' ' || records, ', ' ORDER BY code) || '; first that of event ' || coalesce(min(event_id), '')
        AS detail
FROM audit.transcript_facts WHERE fact = 'walk'
GROUP BY session_id
ORDER BY subject, place, first_seq, last_seq, detail
