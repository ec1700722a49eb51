-- code: BUS-A05
-- title: Demotions of servers that are no longer configured
-- severity: low
-- applies: busbar sqlite 9-12, busbar postgres 10-11
-- params: as_of hugeint, servers list, age hugeint = 2592000
-- needs: servers
-- examines: audit.demotions
-- proves: A demotion is older than 30 days and its server is not in the given list.
-- does not prove: That the server will not come back.
-- meaning: It can be cleared.
-- next: Clear it, or keep it for the case that the server returns.
SELECT 'demotions' AS subject, coalesce(server, '') AS place, CAST(NULL AS BIGINT) AS first_seq, CAST(NULL AS BIGINT) AS last_seq, 1 AS records,
    'demoted at ' || recorded_at || ', not among the servers given' AS detail
FROM audit.demotions WHERE recorded_at < $as_of - $age AND NOT list_contains(CAST($servers AS VARCHAR[]), server)
ORDER BY subject, place, first_seq, last_seq, detail
