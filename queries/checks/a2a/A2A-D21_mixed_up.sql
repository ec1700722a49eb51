-- code: A2A-D21
-- title: Messages of another task inside a payload
-- severity: medium
-- applies: a2a postgres 1-14
-- params: none
-- examines: audit.tasks
-- proves: A message of the history or status names another task or context than its task.
-- does not prove: Which of the two is meant.
-- meaning: Payloads of two tasks were mixed up.
-- next: Compare with what the client sent.
SELECT 'a2a_tasks' AS subject, task_id AS place, created_sequence AS first_seq, created_sequence AS last_seq, 1 AS records, strangers || ' message(s) name another task or context' AS detail FROM audit.tasks WHERE strangers > 0
ORDER BY subject, place, first_seq, last_seq, detail
