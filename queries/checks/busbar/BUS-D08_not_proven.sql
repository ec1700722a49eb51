-- code: BUS-D08
-- title: The restart proof does not cover every kind of record
-- severity: medium
-- applies: busbar sqlite 5-12, busbar postgres 6-11
-- params: none
-- needs: --restart-proof
-- outcome: could_not_run
-- examines: source.restart_rows
-- proves: Fewer than two new rows of a kind, or fewer than two states of tasks, went through the restart.
-- does not prove: A fault: the write command did not write more.
-- meaning: For these kinds nothing is proven.
-- next: Let the write command make at least two calls, two audit entries and two tasks that end in different states.
WITH kinds(subject, label) AS (
    SELECT name, name FROM source.tables WHERE name IN ('audit_log', 'mcp_calls', 'task_events', 'tasks') AND state = 'expected'
        AND NOT (name = 'audit_log' AND EXISTS (SELECT 1 FROM source.tables WHERE name = 'plane_records'))
    UNION ALL
    SELECT 'kind ' || kind, 'kind ' || kind FROM (VALUES ('call'), ('task_event'), ('task')) AS k(kind)
    WHERE EXISTS (SELECT 1 FROM source.tables WHERE name = 'plane_records')
), fresh AS (
    SELECT w.subject, w.state FROM source.restart_rows AS w
    WHERE w.phase = 'written' AND NOT EXISTS (
        SELECT 1 FROM source.restart_rows AS b WHERE b.phase = 'before' AND b.subject = w.subject AND b.place = w.place)
), short AS (
    SELECT k.label, count(f.subject) AS rows_written, count(DISTINCT f.state) AS states
    FROM kinds AS k LEFT JOIN fresh AS f ON f.subject = k.subject
    GROUP BY k.label, k.subject
    HAVING count(f.subject) < 2 OR (k.subject IN ('tasks', 'kind task') AND count(DISTINCT f.state) < 2)
)
SELECT 'store' AS subject, 'write' AS place, CAST(NULL AS BIGINT) AS first_seq, CAST(NULL AS BIGINT) AS last_seq, count(*) AS records,
    'not proven for ' || string_agg(label || ' (' || rows_written || ' new rows, ' || states || ' states)', ', ' ORDER BY label) AS detail
FROM short HAVING count(*) > 0
ORDER BY subject, place, first_seq, last_seq, detail
