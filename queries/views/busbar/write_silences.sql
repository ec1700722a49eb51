-- view: write_silences
-- kind: table
-- about: one row a population with a dated record: its active days, its longest pause, its last write, the last write of what goes on
--   beside it (other_…), and whether its silence breaks its habit while that goes on (broken). Times after the audit are left out.
-- params: as_of hugeint, days bigint = 3
-- applies: busbar sqlite 5-12, busbar postgres 6-11
WITH seen AS (
    SELECT population, day, last_ts FROM audit.write_days WHERE coalesce(last_ts <= $as_of + 300, true)
), pauses AS (
    SELECT population, day, last_ts, day - lag(day) OVER (PARTITION BY population ORDER BY day) AS pause FROM seen
), parts AS (
    SELECT population, count(*) AS active, max(pause) AS longest, max(day) AS last_day, max(last_ts) AS last_ts FROM pauses GROUP BY population
), beside AS (
    SELECT * FROM (VALUES ('calls', 'admin audit'), ('calls', 'usage'), ('calls', 'metering'), ('tasks', 'admin audit'),
        ('tasks', 'usage'), ('tasks', 'metering'), ('task events', 'admin audit'), ('task events', 'usage'), ('task events', 'metering'),
        ('usage', 'metering'), ('metering', 'usage')) AS pairs(population, other)
), others AS (
    SELECT b.population, max(p.last_day) AS other_day, arg_max(p.population, p.last_ts) AS other, max(p.last_ts) AS other_ts
    FROM beside AS b JOIN parts AS p ON p.population = b.other GROUP BY b.population
), compared AS (
    SELECT p.*, o.other, o.other_day, o.other_ts, o.other_day - p.last_day AS silence,
        -- Where requests were metered and that ends as well, it is the traffic that ended: administrators may go on without any.
        coalesce(m.active >= 3 AND m.last_day <= p.last_day + $days, false) AS traffic_ended
    FROM parts AS p
    LEFT JOIN others AS o ON o.population = p.population
    LEFT JOIN parts AS m ON m.population = 'metering' AND p.population IN ('calls', 'tasks', 'task events')
)
SELECT population, active, longest, last_day, last_ts, other, other_ts, silence, traffic_ended,
    -- Three active days make a habit; a silence three times the longest pause breaks it. A usage window is dated by its
    -- start and may be a month long.
    coalesce(active >= 3 AND silence > CASE population WHEN 'usage' THEN 35 ELSE $days END AND silence > 3 * longest AND NOT traffic_ended, false) AS broken
FROM compared
