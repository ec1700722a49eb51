-- code: BUS-C04
-- title: The beginning of a chain is gone
-- severity: medium
-- applies: busbar sqlite 5-12, busbar postgres 6-11
-- params: none
-- examines: audit.chain_records
-- proves: The first record there is not number 1.
-- does not prove: Deletion: a purge by age takes the beginning of call chains lawfully, and no anchor is stored. Where a witness knew
--   the chain from its first record on and finds its last position again, what is gone was proven while it was there (then info).
-- meaning: What came before cannot be seen. Call chains lose it to every purge; the admin audit is never purged, and tasks
--   are purged whole.
-- next: Compare the cutoff named here with the purges that were run; give a witness, so that the next run can prove the
--   link.
WITH known AS (
    SELECT DISTINCT now, scope FROM audit.witnessed WHERE standing = 'proven' AND first_seq <= 1
)
SELECT e.population AS subject, e.scope AS place, e.first_seq, e.last_seq, e.records,
    e.records || ' record(s) before number ' || c.first_seq || ' are gone; '
    || CASE WHEN e.population IN ('mcp_calls', 'call')
        THEN 'oldest call left at ' || coalesce(CAST(p.first_ts AS VARCHAR), 'unknown time') || ', first of this chain at ' || coalesce(CAST(c.first_ts AS VARCHAR), 'unknown time')
            || ': one purge that took them had its cutoff at the first or earlier'
        ELSE 'nothing purges the beginning of such a chain' END
    || CASE WHEN k.now IS NULL THEN '' ELSE '; all of it was witnessed' END AS detail,
    CASE WHEN e.population IN ('mcp_calls', 'call') AND k.now IS NOT NULL THEN 'info' WHEN e.population IN ('mcp_calls', 'call') THEN 'medium' WHEN e.population IN ('task_events', 'task_event') THEN 'high' ELSE 'critical' END AS severity
FROM audit.chain_extents AS e
JOIN audit.chains AS c ON c.population = e.population AND c.scope = e.scope
JOIN audit.chain_populations AS p ON p.population = e.population
LEFT JOIN known AS k ON k.now = e.population AND k.scope = e.scope
WHERE e.about = 'head-missing'
ORDER BY subject, place, first_seq, last_seq, detail
