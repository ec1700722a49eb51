-- code: BUS-K01
-- title: A deleted key still has credentials
-- severity: critical
-- applies: busbar sqlite 5-12, busbar postgres 6-11
-- params: none
-- examines: raw.credentials
-- proves: The key is marked deleted and credentials of it exist.
-- does not prove: That they were used.
-- meaning: The deleted key can still sign.
-- next: Revoke the credentials at the gateway now; look for requests signed with them.
SELECT 'credentials' AS subject, k.id AS place, CAST(NULL AS BIGINT) AS first_seq, CAST(NULL AS BIGINT) AS last_seq, count(*) AS records,
    count(*) || ' credential(s), ' || count(*) FILTER (c.revoked_at IS NULL) || ' not revoked; the key was deleted at ' || k.deleted_at AS detail
FROM raw.credentials AS c JOIN audit.keys AS k ON k.id = c.key_id
WHERE k.deleted_at IS NOT NULL
GROUP BY k.id, k.deleted_at
ORDER BY subject, place, first_seq, last_seq, detail
