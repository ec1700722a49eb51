-- code: A2A-D05
-- title: A task without a state
-- severity: low
-- applies: a2a postgres 1-14
-- params: none
-- examines: audit.tasks
-- proves: The column state is 0 (unspecified).
-- does not prove: That the agent is at fault.
-- meaning: The task was stored before it had a state.
-- next: Look at the agent that wrote it.
SELECT 'a2a_tasks' AS subject, task_id AS place, created_sequence AS first_seq, created_sequence AS last_seq, 1 AS records, 'state 0' AS detail FROM audit.tasks WHERE state_number = 0
ORDER BY subject, place, first_seq, last_seq, detail
