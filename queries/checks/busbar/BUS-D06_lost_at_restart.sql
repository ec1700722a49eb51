-- code: BUS-D06
-- title: Rows were lost or changed at the restart
-- severity: critical
-- applies: busbar sqlite 5-12, busbar postgres 6-11
-- params: none
-- needs: --restart-proof
-- examines: source.restart_rows
-- proves: A row that was in the store before the restart is not there, or is another one, after it.
-- does not prove: Why: a lost WAL, unlogged tables, another file or database, or a repair at the start all look like this.
-- meaning: What the gateway accepted does not survive a restart.
-- next: Look at synchronous, journal and unlogged settings, at what the restart does with the store, and at the gateway log.
WITH compared AS (
    SELECT w.subject, w.place, r.place IS NULL AS lost, r.digest IS DISTINCT FROM w.digest AS differs,
        w.subject IN ('audit_log', 'mcp_calls', 'task_events', 'kind call', 'kind task_event', 'kind audit') AS append_only
    FROM source.restart_rows AS w
    LEFT JOIN source.restart_rows AS r ON r.phase = 'restarted' AND r.subject = w.subject AND r.place = w.place
    -- A demotion may be cleared at any time.
    WHERE w.phase = 'written' AND w.subject NOT IN ('mcp_demotions', 'kind demotion')
)
SELECT subject, min(place) FILTER (lost) AS place, CAST(NULL AS BIGINT) AS first_seq, CAST(NULL AS BIGINT) AS last_seq, count(*) FILTER (lost) AS records,
    count(*) FILTER (lost) || ' of ' || count(*) || ' rows are gone after the restart' AS detail, 'critical' AS severity
FROM compared GROUP BY subject HAVING count(*) FILTER (lost) > 0
UNION ALL
SELECT subject, min(place) FILTER (differs), NULL, NULL, count(*) FILTER (differs), count(*) FILTER (differs) || ' of ' || count(*)
    || ' rows are not the same after the restart', CASE WHEN any_value(append_only) THEN 'critical' ELSE 'medium' END
FROM compared WHERE NOT lost GROUP BY subject HAVING count(*) FILTER (differs) > 0
ORDER BY subject, place, first_seq, last_seq, detail
