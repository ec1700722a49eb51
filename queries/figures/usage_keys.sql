-- figure: usage_keys
-- about: who used most in the last week of metering, by requests.
-- params: limit bigint = 10, days bigint = 7
WITH recent AS (
    SELECT key_id, requests, billable_requests, tokens, day FROM audit.metering
    WHERE day > (SELECT max(day) FROM audit.metering WHERE requests > 0) - $days * 86400
)
SELECT key_id, sum(CAST(requests AS HUGEINT)) AS requests, sum(CAST(billable_requests AS HUGEINT)) AS billable, sum(tokens) AS tokens,
    max(day) AS last_day, count(*) OVER () AS total
FROM recent
GROUP BY key_id
ORDER BY requests DESC, key_id
LIMIT $limit
