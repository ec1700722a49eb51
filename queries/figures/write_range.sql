-- figure: write_range
-- about: first and last day on which a population was written, up to the audit, and how many days are dated after it. Keys may be
--   years older than the rest, so they do not make the axis longer.
-- params: until hugeint
SELECT min(day * 86400) FILTER (last_ts <= $until) AS first_ts, max(last_ts) FILTER (last_ts <= $until) AS last_ts,
    count(*) FILTER (last_ts > $until) AS later
FROM audit.write_days WHERE population NOT IN ('keys', 'demotions')
ORDER BY first_ts
