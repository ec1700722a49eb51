-- code: BUS-U02
-- title: Requests and tokens stand on the wrong rows
-- severity: high
-- applies: busbar sqlite 5-12
-- params: none
-- examines: audit.usage_windows
-- proves: The row of model '' has tokens, or a row of a model has requests.
-- does not prove: Which program wrote it.
-- meaning: Requests are counted twice or not at all.
-- next: Find the writer; compare with metering.
SELECT 'usage_windows' AS subject, coalesce(bucket_id, '') AS place, CAST(NULL AS BIGINT) AS first_seq, CAST(NULL AS BIGINT) AS last_seq, count(*) AS records,
    count(*) FILTER (model = '') || ' row(s) of requests with tokens, ' || count(*) FILTER (model <> '') || ' row(s) of a model with requests; the first window '
    || min(window_start) AS detail
FROM audit.usage_windows
WHERE CASE WHEN model = '' THEN greatest(tokens_input, tokens_output, tokens_cache_read, tokens_cache_write) > 0
    ELSE greatest(requests, billable_requests) > 0 END
GROUP BY bucket_id
ORDER BY subject, place, first_seq, last_seq, detail
