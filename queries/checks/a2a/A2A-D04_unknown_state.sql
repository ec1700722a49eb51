-- code: A2A-D04
-- title: A state that is none
-- severity: high
-- applies: a2a postgres 1-14
-- params: none
-- examines: audit.tasks
-- proves: The column state is outside 0 to 8.
-- does not prove: Who changed it, or when.
-- meaning: No filter of the SDK ever matches the task.
-- next: Read the payload's state with the SDK and write the task again.
SELECT 'a2a_tasks' AS subject, task_id AS place, created_sequence AS first_seq, created_sequence AS last_seq, 1 AS records, 'state ' || state_number AS detail FROM audit.tasks WHERE state_number NOT BETWEEN 0 AND 8
ORDER BY subject, place, first_seq, last_seq, detail
