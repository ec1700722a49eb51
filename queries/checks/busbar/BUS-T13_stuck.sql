-- code: BUS-T13
-- title: Work that nobody goes on with
-- severity: medium
-- applies: busbar sqlite 8-12, busbar postgres 10-11
-- params: as_of hugeint, stuck hugeint = 86400
-- examines: audit.tasks
-- proves: A task is submitted or working, and nothing was written about it for more than a day.
-- does not prove: That the agent is gone: it may work on without telling. Where the whole store ends within a day
--   after, as an old copy does, nothing can be said, and the finding is info.
-- meaning: The agent was lost, or what it tells is no longer written.
-- next: Ask the agent for the task; look whether anything is written at all (BUS-D02), then cancel what is lost.
WITH heard AS (SELECT era, task_id, max(ts) AS ts FROM audit.task_events GROUP BY era, task_id), quiet AS (
    SELECT t.population, t.task_id, t.state, t.agent_id, greatest(t.updated_at, coalesce(h.ts, 0)) AS since
    FROM audit.tasks AS t LEFT JOIN heard AS h ON h.era = t.era AND h.task_id = t.task_id
    WHERE t.decodable AND t.class = 'work'
), written AS (SELECT coalesce(max(last_ts), 0) AS until FROM audit.write_times WHERE last_ts <= $as_of + 300)
SELECT population AS subject, task_id AS place, CAST(NULL AS BIGINT) AS first_seq, CAST(NULL AS BIGINT) AS last_seq, 1 AS records,
    state || ', nothing written since ' || since || ', ' || ($as_of - since) // 3600 || ' hours before the audit; agent '
    || CASE WHEN agent_id = '' THEN 'none' ELSE left(agent_id, 60) END
    || CASE WHEN until > since + $stuck THEN '' ELSE '; the store itself ends at ' || until END AS detail,
    CASE WHEN until > since + $stuck THEN 'medium' ELSE 'info' END AS severity
FROM quiet, written WHERE since < $as_of - $stuck
ORDER BY subject, place, first_seq, last_seq, detail
