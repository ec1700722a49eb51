-- code: BUS-U03
-- title: More was billed than requested
-- severity: high
-- applies: busbar sqlite 5-12, busbar postgres 6-11
-- params: none
-- examines: audit.metering
-- proves: billable_requests is higher than requests.
-- does not prove: Which of the two is wrong.
-- meaning: Somebody is charged too much.
-- next: Correct the bill; find what raised the counter.
WITH rows_of AS (
    SELECT 'usage_windows' AS subject, bucket_id AS place, requests, billable_requests, CAST(window_start AS VARCHAR) AS bucket FROM audit.usage_windows
    UNION ALL
    SELECT 'usage_metering', key_id, requests, billable_requests, bucket FROM audit.metering
)
SELECT subject, coalesce(place, '') AS place, CAST(NULL AS BIGINT) AS first_seq, CAST(NULL AS BIGINT) AS last_seq, count(*) AS records,
    count(*) || ' row(s) bill ' || sum(CAST(billable_requests AS HUGEINT) - requests) || ' request(s) too many, the first of ' || coalesce(left(min(bucket), 20), '?') AS detail
FROM rows_of WHERE billable_requests > requests
GROUP BY subject, place
ORDER BY subject, place, first_seq, last_seq, detail
