-- code: A2A-D15
-- title: A revision below 1
-- severity: medium
-- applies: a2a postgres 3-14
-- params: none
-- examines: audit.tasks
-- proves: The revision is 0 or negative.
-- does not prove: Who changed it, or when.
-- meaning: Compare and swap is broken for this task: 0 means that it is to be created.
-- next: Set the revision to 1 while nobody writes the task.
SELECT 'a2a_tasks' AS subject, task_id AS place, created_sequence AS first_seq, created_sequence AS last_seq, 1 AS records, 'revision ' || revision AS detail FROM audit.tasks WHERE revision < 1
ORDER BY subject, place, first_seq, last_seq, detail
