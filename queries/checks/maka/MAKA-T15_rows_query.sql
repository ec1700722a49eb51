-- code: MAKA-T15
-- title: The rows query and the projection disagree
-- severity: high
-- applies: maka sqlite 16-18
-- params: none
-- examines: audit.transcript_facts
-- proves: A row of a page, computed by the projection, is not among those that SQL derives from the events' facts, or the other
--   way round.
-- does not prove: Which of them is right: they share the decoding of events, and nothing after it.
-- meaning: One of the two definitions of a transcript is wrong for this store, or this tool is.
-- next: Look at the event; report it with its kind.
WITH shown AS (
    SELECT session_id, event_id, code AS type, message AS row_id, records AS sequence FROM audit.transcript_facts WHERE fact = 'row'
), derived AS (
    SELECT r.session_id, r.event_id, r.type, r.row_id, r.sequence FROM audit.transcript_rows AS r
    ANTI JOIN (SELECT * FROM audit.transcript_facts WHERE fact = 'closed') AS c ON c.session_id = r.session_id AND c.event_id = r.invocation_id
), apart AS (
    SELECT *, 'only the projection has it' AS said FROM (FROM shown EXCEPT FROM derived)
    UNION ALL
    SELECT *, 'only the query has it' AS said FROM (FROM derived EXCEPT FROM shown)
)
SELECT 'transcripts' AS subject, session_id AS place, min(sequence) AS first_seq, max(sequence) AS last_seq, count(*) AS records,
    said || ': ' || count(*) || ' row(s), first ' || arg_min(type, sequence) || ' of event ' || arg_min(event_id, sequence) AS detail
FROM apart GROUP BY session_id, said
ORDER BY subject, place, first_seq, last_seq, detail
