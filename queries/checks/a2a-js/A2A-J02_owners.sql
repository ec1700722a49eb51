-- code: A2A-J02
-- title: Rows that no caller of the others' kind can see
-- severity: low
-- applies: a2a-js postgres 1, a2a-js sqlite 1
-- params: none
-- examines: audit.stored_rows
-- proves: Rows have an empty tenant or owner beside rows with a named one; the SDK refuses to write empty ones.
-- does not prove: That anybody misses them.
-- meaning: A caller sees rows of its own tenant and owner only: nobody sees these.
-- next: Decide whose these rows are, and set the owner.
WITH kinds AS (
    SELECT table_name, CASE WHEN owner = '' THEN 'empty owner' WHEN tenant = '' THEN 'empty tenant' ELSE 'named owner' END AS kind, count(*) AS n FROM audit.stored_rows GROUP BY ALL
)
SELECT table_name AS subject, kind AS place, CAST(NULL AS BIGINT) AS first_seq, CAST(NULL AS BIGINT) AS last_seq, n AS records, n || ' row(s) with ' || kind AS detail
FROM kinds AS k WHERE kind <> 'named owner'
ORDER BY subject, place, first_seq, last_seq, detail
