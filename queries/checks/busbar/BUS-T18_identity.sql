-- code: BUS-T18
-- title: A plane record that the gateway cannot find
-- severity: high
-- applies: busbar sqlite 10-12, busbar postgres 10-11
-- params: none
-- examines: audit.plane_places
-- proves: identity is not parent, or id where there is no parent; or an upserted record is not at seq 0; or a task
--   names itself otherwise than its row.
-- does not prove: Who wrote it.
-- meaning: The gateway looks records up by these columns: such a row is never read, updated or found again.
-- next: Compare the row with a backup.
WITH lost AS (
    SELECT coalesce(kind, '') AS kind, coalesce(parent, id, '') AS place, CASE WHEN parent IS NOT NULL THEN seq END AS seq,
        CASE WHEN identity <> coalesce(parent, id) THEN 'identity is another' ELSE 'seq ' || seq || ' instead of 0' END AS what
    FROM audit.plane_places WHERE identity <> coalesce(parent, id) OR (parent IS NULL AND seq <> 0)
    UNION ALL
    SELECT 'task', task_id, NULL, 'the task in it has another id' FROM audit.tasks WHERE era = 'plane' AND decodable AND body_task_id <> task_id
)
SELECT kind AS subject, place, min(seq) AS first_seq, max(seq) AS last_seq, count(*) AS records, string_agg(DISTINCT what, ', ' ORDER BY what) AS detail
FROM lost GROUP BY kind, place
ORDER BY subject, place, first_seq, last_seq, detail
