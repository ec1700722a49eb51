-- figure: tasks_by_state
-- about: tasks by state and by the time since each was last changed, up to the audit.
-- params: as_of hugeint
WITH aged AS (
    SELECT CASE WHEN NOT decodable THEN 'unreadable' WHEN class = 'unknown' THEN 'another state' ELSE state END AS state,
        CASE WHEN NOT decodable THEN 'unreadable' ELSE class END AS class, updated_at, $as_of - updated_at AS age
    FROM audit.tasks
)
SELECT state, count(*) AS tasks, count(*) FILTER (age < 3600) AS hour, count(*) FILTER (age >= 3600 AND age < 86400) AS day,
    count(*) FILTER (age >= 86400 AND age < 604800) AS week, count(*) FILTER (age >= 604800) AS older,
    min(updated_at) AS oldest, max(updated_at) AS newest
FROM aged
GROUP BY state, class
ORDER BY CASE class WHEN 'interrupted' THEN 1 WHEN 'work' THEN 2 WHEN 'terminal' THEN 3 ELSE 4 END, state
