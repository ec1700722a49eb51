-- code: BUS-U08
-- title: Units of usage without their usage row
-- severity: medium
-- applies: busbar sqlite 10-12, busbar postgres 10-11
-- params: none
-- examines: audit.usage_units
-- proves: A row of a named unit has no row of the same window, or of the same metering bucket.
-- does not prove: Which of the two was lost.
-- meaning: A write was carried out in part.
-- next: Compare with a backup.
SELECT subject, coalesce(place, '') AS place, CAST(NULL AS BIGINT) AS first_seq, CAST(NULL AS BIGINT) AS last_seq, count(*) AS records,
    count(*) || ' unit row(s) without a usage row, the first of ' || coalesce(left(min(bucket), 20), '?') AS detail
FROM audit.usage_units WHERE NOT parent
GROUP BY subject, place
ORDER BY subject, place, first_seq, last_seq, detail
