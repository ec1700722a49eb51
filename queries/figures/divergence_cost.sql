-- figure: divergence_cost
-- about: what each generation of the transcript query decodes for what it returns, over walks through a sample of sessions that all of them serve.
WITH walks AS (
    SELECT session_id, code AS generation, max(records) FILTER (view = 'pages') AS pages, max(records) FILTER (view = 'events') AS events,
        max(records) FILTER (view = 'read') AS read, max(records) FILTER (view = 'served') AS served
    FROM audit.transcript_facts WHERE fact = 'cost' GROUP BY session_id, code
), served_by_all AS (
    SELECT session_id FROM walks GROUP BY session_id HAVING count(*) = (SELECT count(DISTINCT generation) FROM walks)
)
SELECT generation, count(*) AS sessions, sum(pages) AS pages, sum(events) AS events, sum(read) AS read, sum(served) AS served,
    sum(read) / nullif(sum(served), 0) AS ratio, max(read / nullif(served, 0)) AS worst
FROM walks SEMI JOIN served_by_all USING (session_id) GROUP BY generation ORDER BY generation
