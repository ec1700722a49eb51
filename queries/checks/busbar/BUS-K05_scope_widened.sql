-- code: BUS-K05
-- title: A server or tool stands among the pools of a key
-- severity: high
-- applies: busbar sqlite 5-9, busbar postgres 6
-- params: pools list, servers list
-- needs: pools
-- examines: audit.keys
-- proves: An element of allowed_pools is no pool of the given list, but the name of a given server or of a tool of
--   one.
-- does not prove: That it was used as a pool.
-- meaning: Before generation 10 grants of other kinds were stored as names of pools, so a key may be allowed more, or
--   less, than was meant.
-- next: Set the grants of these keys again after the upgrade.
WITH given AS (SELECT CAST($pools AS VARCHAR[]) AS pools, CAST($servers AS VARCHAR[]) AS servers), elements AS (
    SELECT id, unnest(TRY(CAST(json_extract_string(allowed_pools, '$[*]') AS VARCHAR[]))) AS element FROM audit.keys WHERE deleted_at IS NULL
)
SELECT 'keys' AS subject, coalesce(id, '') AS place, CAST(NULL AS BIGINT) AS first_seq, CAST(NULL AS BIGINT) AS last_seq, count(*) AS records,
    'no pools, but servers or tools: ' || left(string_agg(element, ', ' ORDER BY element), 160) AS detail
FROM elements, given
WHERE NOT list_contains(pools, element)
    AND (list_contains(servers, element) OR len(list_filter(servers, lambda s: starts_with(element, s || '_'))) > 0)
GROUP BY id
ORDER BY subject, place, first_seq, last_seq, detail
