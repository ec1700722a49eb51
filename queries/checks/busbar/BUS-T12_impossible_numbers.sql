-- code: BUS-T12
-- title: A task with impossible numbers
-- severity: high
-- applies: busbar sqlite 8-12, busbar postgres 10-11
-- params: as_of hugeint, tolerance hugeint = 300, earliest hugeint = 1420070400
-- examines: audit.tasks
-- proves: A negative or too large cursor, an end before the beginning, or a time before 2015 or after the audit.
-- does not prove: An edit: a wrong clock does the same to times.
-- meaning: A number overflowed, a clock was wrong, or the row was edited; retention goes by these times.
-- next: Compare with the clock history of the host and with a backup before the next purge.
WITH wrong AS (
    SELECT population, task_id, NULL AS seq, 'artifact_cursor ' || artifact_cursor AS what FROM audit.tasks
    WHERE decodable AND (artifact_cursor < 0 OR artifact_cursor > 9223372036854775807)
    UNION ALL
    SELECT population, task_id, NULL, 'created_at ' || created_at || ' after updated_at ' || updated_at FROM audit.tasks
    WHERE decodable AND created_at > updated_at
    UNION ALL
    SELECT population, task_id, NULL, 'created_at ' || created_at FROM audit.tasks
    WHERE decodable AND (created_at < $earliest OR created_at > $as_of + $tolerance)
    UNION ALL
    SELECT population, task_id, NULL, 'updated_at ' || updated_at FROM audit.tasks
    WHERE decodable AND (updated_at < $earliest OR updated_at > $as_of + $tolerance)
    UNION ALL
    SELECT population, task_id, seq, 'event time ' || ts FROM audit.task_events WHERE ts < $earliest OR ts > $as_of + $tolerance
)
SELECT population AS subject, task_id AS place, min(seq) AS first_seq, max(seq) AS last_seq, greatest(count(DISTINCT seq), 1) AS records,
    left(string_agg(DISTINCT what, ', ' ORDER BY what), 160) AS detail
FROM wrong GROUP BY population, task_id
ORDER BY subject, place, first_seq, last_seq, detail
