-- figure: usage_windows
-- about: the last windows of usage, the newest first; requests are counted on the row without a model, tokens on the others.
-- params: limit bigint = 10
SELECT window_start, count(DISTINCT bucket_id) AS buckets, sum(CAST(requests AS HUGEINT)) AS requests,
    sum(CAST(billable_requests AS HUGEINT)) AS billable, sum(CAST(tokens_input AS HUGEINT)) AS tokens_input,
    sum(CAST(tokens_output AS HUGEINT)) AS tokens_output, sum(CAST(tokens_cache_read AS HUGEINT) + tokens_cache_write) AS tokens_cached,
    count(*) OVER () AS total
FROM audit.usage_windows
GROUP BY window_start
ORDER BY window_start DESC
LIMIT $limit
