-- code: A2A-J01
-- title: The tables are not what the ledger says
-- severity: high
-- applies: a2a-js postgres 1, a2a-js sqlite 1
-- params: none
-- examines: source.store
-- proves: A column is missing, or the ledger of a store says that its tables were made and they are not here.
-- does not prove: Who removed them. Tables without a ledger are legal: the SDK's own start makes them so too.
-- meaning: A green ledger proves nothing; the service fails on what is missing.
-- next: Restore the tables from a backup, or take the line out of the ledger and migrate again.
WITH ledgers AS (
    SELECT * FROM (VALUES ('a2a_tasks_migrations', 'tasks'), ('a2a_push_notification_configs_migrations', 'push_notification_configs')) AS l (ledger, kind)
)
SELECT table_name AS subject, name AS place, CAST(NULL AS BIGINT) AS first_seq, CAST(NULL AS BIGINT) AS last_seq, 1 AS records, detail AS detail
FROM source.differences WHERE kind = 'table-differs'
UNION ALL
SELECT l.kind, l.kind, NULL, NULL, 1, 'its ledger ' || l.ledger || ' has ' || t.rows || ' line(s), and the table is not there'
FROM ledgers AS l JOIN source.tables AS t ON t.name = l.ledger AND t.rows > 0
WHERE l.kind NOT IN (SELECT kind FROM source.namesakes)
ORDER BY subject, place, first_seq, last_seq, detail
