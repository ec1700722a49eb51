-- figure: divergence_classes
-- about: differences of the two readers by class, with what each reader does and the first session it is found in.
SELECT code AS class, view, pages, count(DISTINCT session_id) AS sessions, greatest(sum(records), count(*)) AS rows, min(session_id) AS first_session
FROM audit.transcript_facts WHERE fact = 'divergence'
GROUP BY code, view, pages ORDER BY try_cast(substr(code, 2) AS INTEGER) NULLS FIRST, view, pages
