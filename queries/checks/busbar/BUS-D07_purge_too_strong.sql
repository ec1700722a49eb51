-- code: BUS-D07
-- title: The purge took what it may not take
-- severity: critical
-- applies: busbar sqlite 5-12, busbar postgres 6-11
-- params: none
-- needs: --restart-proof
-- examines: source.restart_rows
-- proves: A row that no purge may take is gone after the purge command, or a record it left is another one.
-- does not prove: That the purge verb is at fault: the command may have done more.
-- meaning: Live work or permanent evidence was deleted.
-- next: Stop the schedule of that purge; restore the rows from a copy taken before.
WITH gone AS (
    SELECT r.subject, r.scope, r.place, r.state
    FROM source.restart_rows AS r
    WHERE r.phase = 'restarted' AND EXISTS (SELECT 1 FROM source.restart_rows WHERE phase = 'purged')
        AND NOT EXISTS (SELECT 1 FROM source.restart_rows AS p WHERE p.phase = 'purged' AND p.subject = r.subject AND p.place = r.place)
), live AS (
    SELECT CASE WHEN subject = 'tasks' THEN 'task_events' ELSE 'kind task_event' END AS subject, scope
    FROM source.restart_rows
    WHERE phase = 'restarted' AND subject IN ('tasks', 'kind task') AND coalesce(state, '') NOT IN ('completed', 'failed', 'canceled', 'rejected')
)
SELECT subject, min(place) AS place, CAST(NULL AS BIGINT) AS first_seq, CAST(NULL AS BIGINT) AS last_seq, count(*) AS records,
    count(*) || CASE WHEN subject IN ('tasks', 'kind task') THEN ' task(s) that were not finished' WHEN subject IN ('task_events', 'kind task_event')
        THEN ' event(s) of tasks that were not finished' ELSE ' row(s) that no purge may take' END AS detail
FROM gone AS g
WHERE subject IN ('audit_log', 'denylist', 'kind audit')
    OR (subject IN ('tasks', 'kind task') AND coalesce(state, '') NOT IN ('completed', 'failed', 'canceled', 'rejected'))
    OR EXISTS (SELECT 1 FROM live AS l WHERE l.subject = g.subject AND l.scope = g.scope)
GROUP BY subject
UNION ALL
SELECT r.subject, min(r.place), NULL, NULL, count(*), count(*) || ' row(s) are not the same after the purge'
FROM source.restart_rows AS r
JOIN source.restart_rows AS p ON p.phase = 'purged' AND p.subject = r.subject AND p.place = r.place
WHERE r.phase = 'restarted' AND r.digest <> p.digest
GROUP BY r.subject
ORDER BY subject, place, first_seq, last_seq, detail
