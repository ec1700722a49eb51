-- view: usage_windows
-- kind: view
-- about: one row a usage window, bucket and model; model '' has the requests, the others have the tokens.
-- applies: busbar sqlite 5-12
SELECT window_start, bucket_id, model, requests, billable_requests, tokens_input, tokens_output, tokens_cache_read, tokens_cache_write,
    CAST(tokens_input AS HUGEINT) + tokens_output + tokens_cache_read + tokens_cache_write AS tokens
FROM raw.usage_windows
