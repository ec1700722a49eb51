-- view: usage_counters
-- kind: part
-- about: one row a counter of a usage row that is not 0.
-- applies: busbar sqlite 5-12, busbar postgres 6-11
SELECT 'usage_windows' AS subject, bucket_id AS place, counter, amount
FROM (SELECT bucket_id, requests, billable_requests, tokens_input, tokens_output, tokens_cache_read, tokens_cache_write FROM audit.usage_windows)
UNPIVOT (amount FOR counter IN (requests, billable_requests, tokens_input, tokens_output, tokens_cache_read, tokens_cache_write))
WHERE amount <> 0
