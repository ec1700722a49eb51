-- code: MAKA-B29
-- title: A fact that the projection does not know
-- severity: info
-- applies: maka sqlite 11-18
-- params: none
-- examines: audit.transcript_facts
-- proves: An event without content has no known meaning.
-- does not prove: A loss: no row depends on it.
-- meaning: Written by a newer build, or of no use to a transcript.
-- next: Nothing.
SELECT 'transcripts' AS subject, session_id AS place, CAST(NULL AS BIGINT) AS first_seq, CAST(NULL AS BIGINT) AS last_seq, count(*) AS records,
    count(*) || ' event(s), the first ' || min(event_id) AS detail
FROM audit.transcript_facts WHERE fact = 'diagnostic' AND code = 'unclaimed_control_fact' GROUP BY session_id
ORDER BY subject, place, first_seq, last_seq, detail
