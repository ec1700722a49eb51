-- figure: write_days
-- about: when each population was written, by interval, and its last write; no interval before the axis begins. Keys and demotions tell of their last change only.
-- params: since hugeint, until hugeint, step bigint
SELECT population, CASE WHEN day * 86400 >= $since THEN day * 86400 // $step END AS bucket, CAST(sum(records) AS BIGINT) AS records,
    max(max(last_ts)) OVER (PARTITION BY population) AS last_ts
FROM audit.write_days WHERE last_ts <= $until
GROUP BY population, bucket
ORDER BY population, bucket
