-- code: BUS-C23
-- title: A chain that was witnessed is gone
-- severity: info
-- applies: busbar sqlite 5-12, busbar postgres 6-11
-- params: none
-- needs: --witness
-- examines: audit.witnessed
-- proves: A chain with records at the time of the witness has none of them now, and no others or begins anew at 1. Of the admin audit that is critical, as nothing ever purges it;
--   of calls it is high where older records of other callers are still there, as a purge goes by time; else a purge explains it, as it
--   does for tasks that had ended, and for a call chain begun anew after everything witnessed of it.
-- does not prove: That a purge took place. Tasks that had not ended are BUS-T16.
-- meaning: A purge took whole chains, or somebody chose what to delete.
-- next: Compare with the purges that were run; look into chains that are named one by one.
WITH judged AS (
    SELECT w.population, w.scope, w.first_seq, w.last_seq, w.records,
        CASE WHEN w.population IN ('audit_log', 'audit') THEN 'never'
            WHEN w.population IN ('task_events', 'task_event') THEN 'finished'
            WHEN w.oldest <= w.last_ts THEN 'chosen' ELSE 'purged' END AS why
    FROM audit.witnessed AS w
    WHERE w.standing = 'gone' AND (w.population NOT IN ('task_events', 'task_event') OR w.finished)
)
SELECT population AS subject, scope AS place, first_seq, last_seq, records,
    CASE why WHEN 'never' THEN 'gone, and nothing purges this population'
        ELSE 'gone, though older records of others are still there' END AS detail,
    CASE why WHEN 'never' THEN 'critical' ELSE 'high' END AS severity
FROM judged WHERE why IN ('never', 'chosen')
UNION ALL
SELECT population, '', NULL, NULL, sum(records)::BIGINT,
    count(*) || ' chain(s) gone as a purge would take them', 'info'
FROM judged WHERE why IN ('finished', 'purged') GROUP BY population
UNION ALL
SELECT population, scope, first_seq, last_seq, records,
    'gone as a purge would take it, and begun anew at 1 with a record of ' || now_first_ts || ', later than all that was witnessed of it', 'info'
FROM audit.witnessed WHERE standing = 'anew'
ORDER BY subject, place, first_seq, last_seq, detail
