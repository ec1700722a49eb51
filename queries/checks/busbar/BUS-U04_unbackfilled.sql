-- code: BUS-U04
-- title: Requests that the next upgrade will bill
-- severity: info
-- applies: busbar sqlite 5
-- params: none
-- examines: audit.metering
-- proves: billable_requests is 0 where there were requests, in a store from before generation 6.
-- does not prove: That they were refunded, or that they were not.
-- meaning: The upgrade to generation 6 sets billable_requests to requests here, once.
-- next: Know it before the upgrade; refunds of that time cannot be told apart.
WITH rows_of AS (
    SELECT 'usage_windows' AS subject, bucket_id AS place, requests, billable_requests FROM audit.usage_windows WHERE model = ''
    UNION ALL
    SELECT 'usage_metering', key_id, requests, billable_requests FROM audit.metering
)
SELECT subject, coalesce(place, '') AS place, CAST(NULL AS BIGINT) AS first_seq, CAST(NULL AS BIGINT) AS last_seq, count(*) AS records,
    count(*) || ' row(s) with ' || sum(requests) || ' request(s) and none billed' AS detail
FROM rows_of WHERE billable_requests = 0 AND requests > 0
GROUP BY subject, place
ORDER BY subject, place, first_seq, last_seq, detail
