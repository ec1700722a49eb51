-- view: write_path
-- kind: table
-- about: what the traces of the write path add up to (alive, stopped, never kept anything, cannot tell): one row a population of this
--   generation and one for the store as a whole (place 0). stopped_at: its last write. ground: which rule said so; the
--   numbers behind it: traces, traced_at (the last of them), silence in days, other (what goes on meanwhile), stuck tasks, ends (of
--   the store as a whole).
-- params: as_of hugeint, days bigint = 3, kept bigint = 3, least bigint = 3
-- applies: busbar sqlite 5-12, busbar postgres 6-11
WITH traces AS (
    SELECT population, sum(records) FILTER (trace LIKE 'told by %') AS told, max(last_at) FILTER (trace LIKE 'told by %') AS told_at,
        sum(records) FILTER (trace IN ('tasks without any after its end', 'events of work without a row', 'used after its end')) AS outlived,
        bool_or(trace = 'left behind by the upgrade') AS left_behind, sum(records) FILTER (trace LIKE '%used after its end' OR trace = 'keys changed after its end') AS hinted,
        min(first_at) FILTER (trace = 'not purged since') AS kept_since, coalesce(sum(records) FILTER (trace = 'stuck work'), 0) AS stuck
    FROM audit.write_traces WHERE last_at IS NULL OR coalesce(last_at <= $as_of + 300, true) GROUP BY population
), ends AS (
    SELECT max(last_ts) AS ends, max(last_day) AS ends_day FROM audit.write_silences
    WHERE population IN ('calls', 'tasks', 'task events', 'admin audit', 'usage', 'metering')
), joined AS (
    SELECT p.place, p.population, p.records, s.active, s.longest, s.last_day, s.last_ts, s.other, s.other_ts, s.silence,
        coalesce(s.broken, false) AS broken, coalesce(s.traffic_ended, false) AS traffic_ended,
        t.told, t.told_at, coalesce(t.left_behind, false) AS left_behind, coalesce(t.outlived, 0) AS outlived, coalesce(t.hinted, 0) AS hinted, t.kept_since, coalesce(t.stuck, 0) AS stuck, e.ends, e.ends_day,
        -- Nothing is asked of a silence as short as this population has had before.
        greatest($days, CASE WHEN s.active >= 3 THEN least(s.longest, 14) ELSE 0 END) AS reach,
        p.population NOT IN ('tasks', 'task events') OR coalesce(t.kept_since <= s.last_ts, false) AS unpurged
    FROM audit.write_populations AS p
    LEFT JOIN audit.write_silences AS s ON s.population = p.population
    LEFT JOIN traces AS t ON t.population = p.population
    CROSS JOIN ends AS e
), grounds AS (
    SELECT *, CASE
        WHEN records = 0 AND population IN ('calls', 'tasks', 'task events') AND told > 0
            THEN CASE WHEN left_behind THEN 'told before the upgrade' WHEN told_at >= ends - $kept * 86400 THEN 'told' ELSE 'told long ago' END
        WHEN records = 0 AND outlived >= $least THEN 'outlived'
        WHEN records = 0 AND hinted > 0 THEN 'hinted'
        WHEN records = 0 THEN 'nothing'
        WHEN last_ts IS NULL THEN 'undated'
        WHEN outlived >= $least THEN 'outlived'
        WHEN broken AND unpurged THEN 'broken'
        WHEN broken THEN 'purged'
        WHEN population = 'approvals' AND ends_day - last_day > $days THEN 'idle'
        WHEN population = 'admin audit' AND hinted > 0 THEN 'hinted'
        WHEN ends_day - last_day > reach AND traffic_ended THEN 'traffic ended'
        WHEN ends_day - last_day > reach THEN 'quiet'
        WHEN coalesce($as_of // 86400 - last_day > reach, false) THEN 'stale'
        ELSE 'alive' END AS ground
    FROM joined
), verdicts AS (
    SELECT *, CASE WHEN ground = 'told' OR (ground = 'outlived' AND records = 0) THEN 'never kept anything'
        WHEN ground IN ('outlived', 'broken') THEN 'stopped'
        WHEN ground = 'alive' THEN 'alive' ELSE 'cannot tell' END AS verdict
    FROM grounds
), said AS (
    SELECT place, population, records, active, longest, last_ts, verdict, CASE WHEN verdict = 'stopped' THEN last_ts END AS stopped_at, ground,
        coalesce(CASE WHEN ground LIKE 'told%' THEN told WHEN ground = 'hinted' THEN hinted ELSE outlived END, 0) AS traces, CASE WHEN ground LIKE 'told%' THEN told_at END AS traced_at,
        CASE WHEN ground IN ('broken', 'purged') THEN silence ELSE ends_day - last_day END AS silence, other, stuck, ends
    FROM verdicts
), whole AS (
    SELECT CAST(sum(records) AS BIGINT) AS records, max(last_ts) FILTER (population <> 'approvals') AS last_ts, min(stopped_at) AS stopped_at,
        CASE WHEN bool_or(verdict = 'stopped') THEN 'stopped'
            WHEN bool_or(verdict = 'never kept anything') THEN 'never kept anything'
            -- Usage and the audit are written by other ways: where there are calls and tasks to keep, only these show that they are kept.
            WHEN bool_or(verdict = 'alive' AND population IN ('calls', 'tasks', 'task events')) THEN 'alive'
            WHEN bool_or(verdict = 'alive') AND NOT bool_or(population = 'calls') THEN 'alive'
            ELSE 'cannot tell' END AS verdict, max(ends) AS ends
    FROM said
)
SELECT place, population, records, active, longest, last_ts, verdict, stopped_at, ground, traces, traced_at, silence, other, stuck, ends FROM said
UNION ALL
SELECT 0, 'store', records, NULL, NULL, last_ts, verdict, stopped_at, 'parts', 0, NULL, NULL, NULL, 0, ends FROM whole
