-- code: BUS-K07
-- title: Keys that have expired and are still enabled
-- severity: info
-- applies: busbar sqlite 5-12, busbar postgres 6-11
-- params: as_of hugeint
-- examines: audit.keys
-- proves: enabled is set and expires_at has passed.
-- does not prove: A fault: the gateway refuses an expired key.
-- meaning: Cleaning up was forgotten.
-- next: Delete keys that nobody renews.
SELECT 'keys' AS subject, coalesce(id, '') AS place, CAST(NULL AS BIGINT) AS first_seq, CAST(NULL AS BIGINT) AS last_seq, 1 AS records, 'expired at ' || expires_at || ', still enabled' AS detail
FROM audit.keys WHERE live AND expires_at < $as_of
ORDER BY subject, place, first_seq, last_seq, detail
