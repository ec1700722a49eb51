-- view: chain_records
-- kind: part
-- about: one row a chained record of any population. hash and prev_hash are NULL where they cannot be read.
-- applies: busbar sqlite 8-12
SELECT 'task_events' AS population, task_id AS scope, seq, CAST(ts AS HUGEINT) AS ts, prev_hash, hash, _row AS row
FROM raw.task_events WHERE task_id IS NOT NULL AND seq IS NOT NULL
