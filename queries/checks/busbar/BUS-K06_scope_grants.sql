-- code: BUS-K06
-- title: Grants of a key that cannot be read
-- severity: high
-- applies: busbar sqlite 10-12, busbar postgres 10-11
-- params: none
-- examines: audit.keys
-- proves: scope_grants is no JSON object of lists of texts, or names pools, which have a column of their own.
-- does not prove: An edit.
-- meaning: The gateway takes the narrowest meaning: the key may do less than was meant.
-- next: Set the grants of the key again at the gateway.
WITH read AS (
    SELECT id, audit.sound_object(scope_grants) AS sound, audit.members(scope_grants) AS kinds,
        regexp_full_match(audit.outside_strings(regexp_replace(scope_grants, '\s', '', 'g')),
            '\{("":\[(""(,"")*)?\](,"":\[(""(,"")*)?\])*)?\}') AS listed
    FROM audit.keys WHERE scope_grants IS NOT NULL
)
SELECT 'keys' AS subject, coalesce(id, '') AS place, CAST(NULL AS BIGINT) AS first_seq, CAST(NULL AS BIGINT) AS last_seq, 1 AS records,
    CASE WHEN NOT sound OR NOT listed THEN 'scope_grants is no object of lists of texts' ELSE 'scope_grants names the kind pool' END AS detail
FROM read WHERE NOT sound OR NOT listed OR coalesce(list_contains(kinds, 'pool'), false)
ORDER BY subject, place, first_seq, last_seq, detail
