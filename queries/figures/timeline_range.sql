-- figure: timeline_range
-- about: what of each population can be drawn on a time axis: records dated after 1970 and up to a day after the audit's own clock.
-- params: until bigint
SELECT population, count(*) AS records,
    min(ts) FILTER (ts > 0 AND ts <= $until) AS first_ts, max(ts) FILTER (ts > 0 AND ts <= $until) AS last_ts,
    count(*) FILTER (ts IS NULL) AS undated, count(*) FILTER (ts <= 0) AS before, count(*) FILTER (ts > $until) AS after
FROM audit.chain_records
GROUP BY population
ORDER BY population
