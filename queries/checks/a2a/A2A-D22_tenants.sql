-- code: A2A-D22
-- title: Configurations of several tenants
-- severity: low
-- applies: a2a postgres 1-14
-- params: none
-- examines: audit.push_configs
-- proves: Payloads name more than one tenant.
-- does not prove: That one overwrote the other already.
-- meaning: The key of the table has no tenant: two tenants with the same task and configuration id overwrite each other.
-- next: Give every tenant a schema of its own.
SELECT 'a2a_push_notification_configs' AS subject, 'tenants' AS place, min(created_sequence) AS first_seq, max(created_sequence) AS last_seq, count(*) AS records, count(DISTINCT tenant_key) || ' tenants share the table' AS detail
FROM audit.push_configs WHERE tenant_key IS NOT NULL HAVING count(DISTINCT tenant_key) > 1
ORDER BY subject, place, first_seq, last_seq, detail
