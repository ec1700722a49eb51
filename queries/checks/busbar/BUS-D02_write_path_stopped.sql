-- code: BUS-D02
-- title: Calls or task events stopped being written
-- severity: high
-- applies: busbar sqlite 8-12, busbar postgres 10-11
-- params: as_of hugeint, days bigint = 3
-- examines: audit.write_times
-- proves: The last call or event is more than 3 days older than the last admin audit or usage, and it had never been
--   silent nearly as long.
-- does not prove: That there was traffic: the tools or agents may have been taken out of use.
-- meaning: The write path died while the gateway went on.
-- next: Ask whether tools and agents were in use after that time; make one call and look whether it is stored
--   (BUS-D01).
WITH seen AS (
    -- A time after the audit says nothing about when something was written.
    SELECT part, day, last_ts FROM audit.write_times WHERE last_ts <= $as_of + 300
), pauses AS (
    SELECT part, day, last_ts, day - lag(day) OVER (PARTITION BY part ORDER BY day) AS pause FROM seen
), parts AS (
    SELECT part, count(*) AS active, max(pause) AS longest, max(day) AS last_day, max(last_ts) AS last_ts FROM pauses GROUP BY part
), others AS (
    SELECT max(last_day) AS last_day, arg_max(part, last_ts) AS part, max(last_ts) AS last_ts FROM parts WHERE part IN ('admin audit', 'usage')
)
SELECT p.part AS subject, 'last written' AS place, CAST(NULL AS BIGINT) AS first_seq, CAST(NULL AS BIGINT) AS last_seq, 1 AS records,
    'nothing since ' || p.last_ts || ', ' || o.part || ' goes on until ' || o.last_ts || ': ' || (o.last_day - p.last_day) || ' days; '
    || p.active || ' active days before, longest pause ' || p.longest || ' day(s)' AS detail
FROM parts AS p, others AS o
-- Three active days make a habit; a silence three times the longest pause breaks it.
WHERE p.part IN ('calls', 'task events') AND p.active >= 3 AND o.last_day - p.last_day > $days AND o.last_day - p.last_day > 3 * p.longest
ORDER BY subject, place, first_seq, last_seq, detail
