-- view: witnessed
-- kind: table
-- about: one row a witnessed chain with what it is now. standing: proven (the witnessed record is there, or the head of the chain
--   links to it), anew (a call chain that a purge can have taken whole, begun again at 1 after that), behind (the chain ends before it),
--   rewritten (another hash stands there), hole (it is gone from inside), passed (the head was removed beyond it), gone (the chain has no
--   record). oldest: time of the oldest record left where it was. A purge takes what is older than its cutoff, so what it took is older
--   than that.
-- applies: busbar sqlite 5-12, busbar postgres 6-11
WITH renamed AS (
    -- An upgrade to generation 10 takes these populations over under other names.
    SELECT * FROM (VALUES ('mcp_calls', 'call'), ('task_events', 'task_event'), ('audit_log', 'audit')) AS t(population, later)
), named AS (
    SELECT w.*, CASE WHEN c.population IS NULL AND l.population IS NOT NULL THEN l.population ELSE w.population END AS now
    FROM source.witness AS w
    LEFT JOIN audit.chains AS c ON c.population = w.population AND c.scope = w.scope
    LEFT JOIN renamed AS r ON r.population = w.population
    LEFT JOIN audit.chains AS l ON l.population = r.later AND l.scope = w.scope
    -- Of another store at the same place nothing is said but that it is another.
    WHERE NOT (SELECT coalesce(bool_or(replaced), false) FROM audit.witness_identity)
), oldest AS (
    SELECT population, min(first_ts) AS ts FROM audit.chains GROUP BY population
), standing_at AS (
    SELECT n.population, n.scope, count(*) AS there, bool_or(r.hash IS NOT DISTINCT FROM n.last_hash) AS same
    FROM named AS n JOIN audit.chain_records AS r ON r.population = n.now AND r.scope = n.scope AND r.seq = n.last_seq
    GROUP BY n.population, n.scope
)
SELECT n.population, n.scope, n.now, n.first_seq, n.last_seq, n.last_hash, n.records, n.last_ts, n.finished,
    c.first_seq AS now_first_seq, c.last_seq AS now_last_seq, c.first_ts AS now_first_ts, least(o.ts, p.ts) AS oldest,
    CASE WHEN c.population IS NULL THEN 'gone'
        WHEN a.same THEN 'proven'
        -- All that is left of the population is younger than the witnessed end, and so are these: numbers that were taken before. A purge
        -- may have taken the head of the new ones, too, which is BUS-C04 as ever.
        WHEN n.population IN ('mcp_calls', 'call') AND least(o.ts, p.ts) > n.last_ts
            AND c.first_seq BETWEEN 1 AND n.last_seq AND (c.first_seq > 1 OR c.first_prev_hash = '') THEN 'anew'
        WHEN a.there > 0 THEN 'rewritten'
        WHEN c.last_seq < n.last_seq THEN 'behind'
        WHEN c.first_seq = n.last_seq + 1 AND c.first_prev_hash = n.last_hash THEN 'proven'
        WHEN c.first_seq > n.last_seq THEN 'passed'
        ELSE 'hole' END AS standing
FROM named AS n
LEFT JOIN audit.chains AS c ON c.population = n.now AND c.scope = n.scope
LEFT JOIN standing_at AS a ON a.population = n.population AND a.scope = n.scope
LEFT JOIN oldest AS o ON o.population = n.population
LEFT JOIN oldest AS p ON p.population = n.now
