-- code: BUS-S07
-- title: The append-only protection is not whole
-- severity: critical
-- applies: busbar sqlite 5-12
-- params: none
-- examines: source.tables
-- proves: A trigger that has to be there is missing, altered or conditional, or a protected row of the private copy could
--   be changed when it was tried.
-- does not prove: That something was changed while it was off. A trigger can be dropped, and put back.
-- meaning: The database no longer refuses to rewrite evidence.
-- next: Treat the chains as the only proof left, compare with a witness or a backup, and find who had write access.
SELECT table_name AS subject, name AS place, CAST(NULL AS BIGINT) AS first_seq, CAST(NULL AS BIGINT) AS last_seq, 1 AS records,
    kind || ': ' || detail AS detail, CASE WHEN kind = 'trigger-unknown' THEN 'high' ELSE 'critical' END AS severity
FROM source.differences WHERE kind IN ('trigger-missing', 'trigger-differs', 'trigger-unknown')
UNION ALL
SELECT table_name, trigger_name, NULL, NULL, count(*), 'tried on the copy: ' || action || ' of the ' || string_agg(record, ', ' ORDER BY record)
    || ' row was allowed', 'critical'
FROM source.probes
-- A trigger that is missing or altered is named above already.
WHERE outcome = 'allowed' AND trigger_name NOT IN (SELECT name FROM source.differences WHERE kind IN ('trigger-missing', 'trigger-differs'))
GROUP BY table_name, trigger_name, action
UNION ALL
SELECT table_name, trigger_name, NULL, NULL, count(*), 'could not be tried on the copy: ' || action || ' of the '
    || string_agg(record, ', ' ORDER BY record) || ' row: ' || replace(min(outcome), 'not tried: ', ''), 'medium'
FROM source.probes
WHERE starts_with(outcome, 'not tried') AND outcome <> 'not tried: no such row'
    AND trigger_name NOT IN (SELECT name FROM source.differences WHERE kind IN ('trigger-missing', 'trigger-differs'))
GROUP BY table_name, trigger_name, action
ORDER BY subject, place, first_seq, last_seq, detail
