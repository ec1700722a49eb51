-- view: metering
-- kind: view
-- about: one row of usage metering; day is the bucket as a number, NULL where it is none.
-- applies: busbar postgres 6
SELECT CAST(bucket AS VARCHAR) AS bucket, CASE WHEN bucket BETWEEN 0 AND 999999999999999 THEN bucket END AS day, key_id, provider, model,
    CAST(0 AS BIGINT) AS priced_from_ms, requests, billable_requests, tokens_input, tokens_output, tokens_cache_read, tokens_cache_write,
    CAST(tokens_input AS HUGEINT) + tokens_output + tokens_cache_read + tokens_cache_write AS tokens
FROM raw.usage_metering
