-- code: BUS-U11
-- title: Nothing is ever refunded in metering
-- severity: medium
-- applies: busbar sqlite 10-12, busbar postgres 10-11
-- params: least bigint = 10
-- examines: audit.metering
-- proves: No metering row bills less than was requested, although calls were refused or failed.
-- does not prove: That these calls were billed: metering may count other requests only.
-- meaning: A known defect of late builds bills every request, failed ones too.
-- next: Compare billable_requests of a day with the failures in the gateway log; correct the bill.
WITH metered AS (
    SELECT count(*) AS lines, sum(requests) AS requests, count(*) FILTER (billable_requests < requests) AS refunded
    FROM audit.metering WHERE requests > 0
), failed AS (
    SELECT count(*) AS calls FROM audit.calls WHERE outcome = 'refused' OR reason = 'upstream_failed'
), windows AS (
    SELECT count(*) FILTER (billable_requests < requests) AS refunded FROM audit.usage_windows
)
SELECT 'usage_metering' AS subject, 'billable_requests' AS place, CAST(NULL AS BIGINT) AS first_seq, CAST(NULL AS BIGINT) AS last_seq, lines AS records,
    lines || ' row(s) with ' || metered.requests || ' request(s) all billed; ' || calls || ' call(s) were refused or failed, '
    || windows.refunded || ' usage window(s) show refunds' AS detail
FROM metered, failed, windows WHERE lines >= $least AND metered.refunded = 0 AND calls >= $least
ORDER BY subject, place, first_seq, last_seq, detail
