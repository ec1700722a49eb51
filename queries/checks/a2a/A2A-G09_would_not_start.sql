-- code: A2A-G09
-- title: The newest SDK would not start on this store
-- severity: info
-- applies: a2a postgres 1-14
-- params: none
-- examines: audit.startup_rules
-- proves: A rule that the SDK of generation v4 checks at start-up does not hold here.
-- does not prove: That the service is of that generation. An older one has fewer rules, and what is wrong has a finding of its own.
-- meaning: With auto_create_schema the SDK repairs most of it first; without it the service refuses to start.
-- next: Rehearse the migration on a copy before the service is updated.
SELECT 'start-up' AS subject, 'v4' AS place, CAST(NULL AS BIGINT) AS first_seq, CAST(NULL AS BIGINT) AS last_seq, count(*) AS records,
    string_agg(rule || ' (' || about || ')', ', ' ORDER BY rule) AS detail
FROM audit.startup_rules WHERE NOT holds HAVING count(*) > 0
ORDER BY subject, place, first_seq, last_seq, detail
