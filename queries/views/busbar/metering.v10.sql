-- view: metering
-- kind: view
-- about: one row of usage metering; day is the bucket as a number, NULL where it is none.
-- applies: busbar sqlite 10-12
SELECT bucket, CASE WHEN regexp_full_match(bucket, '\d{1,15}') THEN CAST(bucket AS BIGINT) END AS day, key_id, provider, model,
    priced_from_ms AS priced_from_ms, requests, billable_requests, tokens_input, tokens_output, tokens_cache_read, tokens_cache_write,
    CAST(tokens_input AS HUGEINT) + tokens_output + tokens_cache_read + tokens_cache_write AS tokens
FROM raw.usage_metering
