-- view: usage_windows
-- kind: view
-- about: one row a usage window, bucket and model; model '' has the requests, the others have the tokens.
-- applies: busbar postgres 6-11
SELECT window_start, bucket_id, '' AS model, requests, billable_requests, CAST(0 AS BIGINT) AS tokens_input, CAST(0 AS BIGINT) AS tokens_output,
    CAST(0 AS BIGINT) AS tokens_cache_read, CAST(0 AS BIGINT) AS tokens_cache_write, CAST(0 AS HUGEINT) AS tokens
FROM raw.usage_windows
UNION ALL
SELECT window_start, bucket_id, model, 0, 0, tokens_input, tokens_output, tokens_cache_read, tokens_cache_write,
    CAST(tokens_input AS HUGEINT) + tokens_output + tokens_cache_read + tokens_cache_write
FROM raw.usage_ledger
