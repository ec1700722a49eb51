-- code: BUS-U01
-- title: Tokens were used in a window without a request
-- severity: high
-- applies: busbar sqlite 5-12, busbar postgres 6-11
-- params: none
-- examines: audit.usage_windows
-- proves: The rows of a window and bucket have tokens and none has a request.
-- does not prove: Which of the two numbers is right.
-- meaning: Requests were lost when usage was written; limits by requests do not hold.
-- next: Compare with metering of the same day, and with the gateway log.
SELECT 'usage_windows' AS subject, bucket_id AS place, CAST(NULL AS BIGINT) AS first_seq, CAST(NULL AS BIGINT) AS last_seq, count(*) AS records,
    count(*) || ' window(s) with ' || sum(tokens) || ' token(s) and no request, the first of ' || min(window_start) AS detail
FROM (
    SELECT bucket_id, window_start, sum(tokens) AS tokens FROM audit.usage_windows WHERE bucket_id IS NOT NULL
    GROUP BY bucket_id, window_start HAVING sum(tokens) > 0 AND coalesce(sum(requests) FILTER (model = ''), 0) = 0
) GROUP BY bucket_id
ORDER BY subject, place, first_seq, last_seq, detail
