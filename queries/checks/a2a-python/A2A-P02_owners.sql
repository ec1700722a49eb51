-- code: A2A-P02
-- title: Rows that no caller of the others' kind can see
-- severity: low
-- applies: a2a-python postgres 1-4, a2a-python sqlite 1-4
-- params: none
-- examines: audit.stored_rows
-- proves: Rows have no owner, an empty owner or the migration's default beside rows with a named owner.
-- does not prove: That anybody misses them.
-- meaning: A caller sees rows of its own owner only: these sets never meet.
-- next: Decide whose these rows are, and set the owner.
WITH kinds AS (
    SELECT table_name, CASE WHEN owner IS NULL THEN 'no owner' WHEN owner = '' THEN 'empty owner' WHEN owner = 'legacy_v03_no_user_info' THEN 'default owner'
        ELSE 'named owner' END AS kind, count(*) AS n FROM audit.stored_rows GROUP BY ALL
)
SELECT table_name AS subject, kind AS place, CAST(NULL AS BIGINT) AS first_seq, CAST(NULL AS BIGINT) AS last_seq, n AS records, n || ' row(s) with ' || kind AS detail
FROM kinds AS k WHERE kind <> 'named owner' AND EXISTS (SELECT 1 FROM kinds AS o WHERE o.table_name = k.table_name AND o.kind <> k.kind)
ORDER BY subject, place, first_seq, last_seq, detail
