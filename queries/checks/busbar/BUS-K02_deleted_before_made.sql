-- code: BUS-K02
-- title: A key was deleted before it was made
-- severity: high
-- applies: busbar sqlite 5-12, busbar postgres 6-11
-- params: none
-- examines: audit.keys
-- proves: deleted_at is lower than created_at.
-- does not prove: An edit: old PostgreSQL plug-ins wrote their revision counter there.
-- meaning: When the key was deleted is not known, so nothing can be said about calls after that.
-- next: Take the time from the gateway log.
SELECT 'keys' AS subject, coalesce(id, '') AS place, CAST(NULL AS BIGINT) AS first_seq, CAST(NULL AS BIGINT) AS last_seq, 1 AS records, 'deleted_at ' || deleted_at || ', created_at ' || created_at AS detail
FROM audit.keys WHERE deleted_at < created_at
ORDER BY subject, place, first_seq, last_seq, detail
