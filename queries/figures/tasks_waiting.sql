-- figure: tasks_waiting
-- about: tasks that wait for a person, the longest first.
-- params: limit bigint = 20
SELECT task_id, state, principal, agent_id, updated_at, count(*) OVER () AS total
FROM audit.tasks WHERE decodable AND class = 'interrupted'
ORDER BY updated_at, task_id
LIMIT $limit
