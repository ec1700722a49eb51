-- code: MAKA-T16
-- title: A captured answer of the application is not what the store says
-- severity: high
-- applies: maka sqlite 16-18
-- params: none
-- needs: --export
-- examines: source.export_facts
-- proves: Rows that the application answered for a session are neither those of the Session view nor those of its pages, both
--   computed from the store; or they are those of one of them only, which is info.
-- does not prove: Which side is wrong, nor that the store had not moved on since the answer was captured. Pages of query
--   generations Q-A and Q-C are emulated and unverified; the detail says so. An empty answer for a session without events and rows is right.
-- meaning: What a user was shown is not in the ledger, or not all of it.
-- next: Capture the answer and copy the store at the same moment; then look at the first row that differs.
WITH answers AS (
    SELECT session_id, min(answer) AS answer, max(records) AS records, bool_or(outcome = 'absent') AS absent,
        bool_or(outcome = 'equal' AND reader = 'view') AS of_view, bool_or(outcome = 'equal' AND reader <> 'view') AS of_pages,
        string_agg(CASE reader WHEN 'view' THEN 'Session view' ELSE reader END || ' ' || CASE outcome
            WHEN 'differs' THEN 'differs in ' || records || ' row(s), first row ' || place || ' (' || detail || ')' ELSE outcome END,
            '; ' ORDER BY reader DESC) AS told
    FROM source.export_facts GROUP BY session_id
), classes AS (
    SELECT session_id, string_agg(DISTINCT code, ', ' ORDER BY code) AS known
    FROM audit.transcript_facts WHERE fact = 'divergence' GROUP BY session_id
)
SELECT 'transcripts' AS subject, session_id AS place, CAST(NULL AS BIGINT) AS first_seq, CAST(NULL AS BIGINT) AS last_seq,
    greatest(records, 1) AS records,
    CASE WHEN absent THEN 'the store has no events of this session' ELSE 'captured ' || answer || ': ' || told || coalesce(' (these two differ by ' || known || ')', '') END AS detail,
    CASE WHEN of_view OR of_pages THEN 'info' ELSE 'high' END AS severity
FROM answers LEFT JOIN classes USING (session_id)
WHERE CASE WHEN absent THEN records > 0 OR session_id NOT IN (SELECT session_id FROM audit.sessions)
    OR session_id IN (SELECT session_id FROM audit.legacy_rows) ELSE NOT of_view OR NOT of_pages END
ORDER BY subject, place, first_seq, last_seq, detail
