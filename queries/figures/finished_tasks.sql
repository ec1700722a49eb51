-- figure: finished_tasks
-- about: tasks in a terminal state.
SELECT task_id FROM audit.tasks WHERE class = 'terminal' AND task_id IS NOT NULL ORDER BY task_id
