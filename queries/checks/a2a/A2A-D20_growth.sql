-- code: A2A-D20
-- title: A payload that has grown or repeats itself
-- severity: low
-- applies: a2a postgres 1-14
-- params: most_bytes hugeint = 8388608, most_messages hugeint = 1000
-- examines: audit.tasks
-- proves: The payload is larger or has more messages than the limit, a message id occurs twice (low), or an artifact id
--   does (medium).
-- does not prove: That a repeated message is wrong: without deduplication a retried append is kept.
-- meaning: Reading the task becomes slow, or an append was repeated.
-- next: Turn on deduplication of the history, and limit it.
SELECT 'a2a_tasks' AS subject, task_id AS place, created_sequence AS first_seq, created_sequence AS last_seq, 1 AS records, concat_ws(', ', CASE WHEN bytes > $most_bytes THEN bytes || ' bytes' END,
    CASE WHEN messages > $most_messages THEN messages || ' messages' END, CASE WHEN repeated_messages > 0 THEN repeated_messages || ' message id(s) again' END,
    CASE WHEN repeated_artifacts > 0 THEN repeated_artifacts || ' artifact id(s) again' END) AS detail,
    CASE WHEN repeated_artifacts > 0 THEN 'medium' ELSE 'low' END AS severity
FROM audit.tasks WHERE bytes > $most_bytes OR messages > $most_messages OR repeated_messages > 0 OR repeated_artifacts > 0
ORDER BY subject, place, first_seq, last_seq, detail
