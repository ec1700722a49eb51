-- code: BUS-U06
-- title: A metering bucket that is no day
-- severity: medium
-- applies: busbar sqlite 5-12, busbar postgres 6-11
-- params: none
-- examines: audit.metering
-- proves: The bucket is no decimal number, or not the start of a day in UTC.
-- does not prove: Which program wrote it.
-- meaning: The gateway never writes such a bucket, and a purge by day never takes it.
-- next: Find the writer.
SELECT 'usage_metering' AS subject, coalesce(key_id, '') AS place, CAST(NULL AS BIGINT) AS first_seq, CAST(NULL AS BIGINT) AS last_seq, count(*) AS records,
    count(*) || ' row(s), the first bucket is ' || left(min(bucket), 20) AS detail
FROM audit.metering WHERE bucket IS NOT NULL AND (day IS NULL OR day % 86400 <> 0)
GROUP BY key_id
ORDER BY subject, place, first_seq, last_seq, detail
