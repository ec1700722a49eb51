-- code: BUS-K08
-- title: Secrets in clear text
-- severity: high
-- applies: busbar sqlite 5-12, busbar postgres 6-11
-- params: none
-- examines: raw.credentials
-- proves: The stored form of the secret says that it is not encrypted (v1:plain:).
-- does not prove: That anybody read it.
-- meaning: Whoever can read the file or a backup of it can sign as this key.
-- next: Configure encryption of secrets, issue new credentials, and treat old backups as leaked.
SELECT 'credentials' AS subject, coalesce(key_id, '') AS place, CAST(NULL AS BIGINT) AS first_seq, CAST(NULL AS BIGINT) AS last_seq, count(*) AS records,
    count(*) || ' credential(s) with the secret in clear text, ' || count(*) FILTER (revoked_at IS NULL) || ' not revoked' AS detail
FROM raw.credentials WHERE starts_with(secret, 'v1:plain:')
GROUP BY key_id
ORDER BY subject, place, first_seq, last_seq, detail
