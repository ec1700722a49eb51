-- code: A2A-D08
-- title: Context or state differ from the payload
-- severity: high
-- applies: a2a postgres 1-14
-- params: none
-- examines: audit.tasks
-- proves: The column context_id or state is not what the payload says.
-- does not prove: Who changed it, or when.
-- meaning: Lists by context or state show what the task is not.
-- next: Write the task again through the SDK: it writes columns and payload together.
SELECT 'a2a_tasks' AS subject, task_id AS place, created_sequence AS first_seq, created_sequence AS last_seq, 1 AS records, concat_ws(', ', CASE WHEN payload_context_id <> context_id THEN 'context_id' END, CASE WHEN payload_state <> state_number THEN 'state ' || state_number || ', payload ' || payload_state END) AS detail FROM audit.tasks WHERE ok AND (payload_context_id <> context_id OR payload_state <> state_number)
ORDER BY subject, place, first_seq, last_seq, detail
