-- figure: credentials_by_state
-- about: signing credentials by state at the audit; of none of them is anything shown.
-- params: as_of hugeint
SELECT CASE WHEN revoked_at IS NOT NULL THEN 'revoked' WHEN expires_at < $as_of THEN 'expired' ELSE 'live' END AS state, count(*) AS credentials,
    count(DISTINCT key_id) AS keys
FROM raw.credentials
GROUP BY state
ORDER BY state
