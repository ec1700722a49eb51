-- code: A2A-K08
-- title: A task of the Java SDK that was final and is at work again
-- severity: medium
-- applies: a2a postgres 20
-- params: none
-- examines: audit.tasks
-- proves: finalized_at is set, which happens when a task becomes final, and the task is not in a final state.
-- does not prove: Who changed it back: a late writer that had read the task before leaves this.
-- meaning: A terminal state was overwritten; callers were told an end that is none.
-- next: Look at what wrote the task last, and settle its state.
SELECT 'a2a_tasks' AS subject, task_id AS place, CAST(NULL AS BIGINT) AS first_seq, CAST(NULL AS BIGINT) AS last_seq, 1 AS records,
    'finalized, and its state is ' || state AS detail
FROM audit.tasks WHERE ok AND finalized AND class IN ('work', 'interrupted')
ORDER BY subject, place, first_seq, last_seq, detail
