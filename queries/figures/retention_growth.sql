-- figure: retention_growth
-- about: records a day of each population over the last days before the audit, and since when there are any.
-- params: as_of hugeint, days bigint = 14
WITH recent AS (
    SELECT population, count(*) FILTER (ts > $as_of - $days * 86400 AND ts <= $as_of) AS records, count(*) AS held, min(ts) FILTER (ts > 0) AS oldest
    FROM audit.chain_records GROUP BY population
)
SELECT population, held, records, records / greatest(1, least($days, ceil(($as_of - oldest) / 86400.0))) AS a_day, oldest
FROM recent ORDER BY population
