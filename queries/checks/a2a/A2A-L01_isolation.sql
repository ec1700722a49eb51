-- code: A2A-L01
-- title: A default isolation level above read committed
-- severity: high
-- applies: a2a postgres 11-14
-- params: none
-- examines: source.relations
-- proves: default_transaction_isolation is repeatable read or serializable for the server, this database, or a role that
--   deletes tasks or creates configurations.
-- does not prove: That a session did not set its own.
-- meaning: Creation is refused, and a delete with an old snapshot leaves orphans without an error.
-- next: Reset the setting for these roles; read committed is what the SDK was made for.
SELECT 'settings' AS subject, level || coalesce(' ' || role, '') AS place, CAST(NULL AS BIGINT) AS first_seq, CAST(NULL AS BIGINT) AS last_seq, 1 AS records, name || ' = ' || left(value, 40) AS detail
FROM source.settings WHERE name = 'default_transaction_isolation' AND value IN ('repeatable read', 'serializable') AND concerned
ORDER BY subject, place, first_seq, last_seq, detail
