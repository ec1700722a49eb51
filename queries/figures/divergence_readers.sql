-- figure: divergence_readers
-- about: how the sessions are read: how many the Session view shows or refuses, how many have pages that are refused, and rows.
WITH per AS (
    SELECT session_id, max(view) FILTER (fact = 'session') AS view, max(records) FILTER (fact = 'session') AS rows,
        count(*) FILTER (fact = 'closed') AS closed, count(*) FILTER (fact = 'row') AS served,
        count(*) FILTER (fact = 'divergence' AND code <> 'V1') AS differs, count(*) FILTER (fact = 'divergence' AND code = 'V1') AS open
    FROM audit.transcript_facts GROUP BY session_id
)
SELECT CASE WHEN view = 'refused' THEN 'refused by the Session view' WHEN differs > 0 THEN 'read differently'
        WHEN open > 0 THEN 'alike, but for an open run' ELSE 'read alike' END AS reading,
    count(*) AS sessions, coalesce(sum(rows) FILTER (view = 'shown'), 0) AS view_rows, sum(served) AS page_rows, sum(closed) AS closed
FROM per GROUP BY reading ORDER BY list_position(['read alike', 'alike, but for an open run', 'read differently', 'refused by the Session view'], reading)
