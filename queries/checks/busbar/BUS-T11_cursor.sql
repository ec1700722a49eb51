-- code: BUS-T11
-- title: The artifact cursor does not fit the events
-- severity: medium
-- applies: busbar sqlite 8-12, busbar postgres 10-11
-- params: none
-- examines: audit.tasks
-- proves: The cursor is above 0 and no event tells of an artifact, or the reverse.
-- does not prove: Loss: test data of the project have such cursors.
-- meaning: Events were lost; a client that resumes its stream gets artifacts twice or not at all.
-- next: Compare the events with what the agent delivered.
WITH told AS (
    SELECT era, task_id, count(*) FILTER (kind = 'task.artifact') AS artifacts,
        min(seq) = 1 AND max(run) = min(run) AND bool_and(decodable) AS whole
    FROM audit.task_events GROUP BY era, task_id
)
SELECT t.population AS subject, t.task_id AS place, CAST(NULL AS BIGINT) AS first_seq, CAST(NULL AS BIGINT) AS last_seq, 1 AS records,
    'artifact_cursor ' || t.artifact_cursor || ', ' || e.artifacts || ' artifact event(s)' AS detail
FROM audit.tasks AS t JOIN told AS e ON e.era = t.era AND e.task_id = t.task_id
-- Where events are missing anyway, theirs may have been the artifacts.
WHERE t.decodable AND ((t.artifact_cursor > 0 AND e.artifacts = 0 AND e.whole) OR (t.artifact_cursor = 0 AND e.artifacts > 0))
ORDER BY subject, place, first_seq, last_seq, detail
