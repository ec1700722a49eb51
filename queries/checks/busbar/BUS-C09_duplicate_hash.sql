-- code: BUS-C09
-- title: The same hash stands at two places
-- severity: high
-- applies: busbar sqlite 5-12, busbar postgres 6-11
-- params: none
-- examines: audit.chain_records
-- proves: Two records carry one hash; scope and number are part of every digest, so two true records never do.
-- does not prove: Which is the original.
-- meaning: Records were copied.
-- next: Compare both places with a backup.
WITH marks AS (
    -- Sorted, not grouped: a sort of eight bytes a record spills to disk where a table of groups would not fit the memory.
    SELECT mark, lag(mark) OVER (ORDER BY mark) AS mark_before FROM (SELECT hash(hash) AS mark FROM audit.chain_records WHERE hash IS NOT NULL)
), twice AS (
    SELECT DISTINCT mark FROM marks WHERE mark = mark_before
), places AS (
    -- The late gateway copies the admin audit into the plane records with its digests; there one record is at two places.
    SELECT DISTINCT hash, CASE WHEN population IN ('audit_log', 'audit') THEN 'admin audit' ELSE population END AS subject,
        CASE WHEN population IN ('audit_log', 'audit') THEN 'admin' ELSE scope END AS place, seq,
        CASE WHEN population IN ('audit_log', 'audit') THEN 0 ELSE row END AS row
    FROM audit.chain_records SEMI JOIN twice ON hash(hash) = mark
)
SELECT min(subject) AS subject, arg_min(place, (subject, place, seq)) AS place, arg_min(seq, (subject, place, seq)) AS first_seq,
    arg_max(seq, (subject, place, seq)) AS last_seq, count(*) AS records,
    'one hash at ' || count(*) || ' places; the last one is ' || arg_max(subject || ' ' || place, (subject, place, seq)) AS detail
FROM places GROUP BY hash HAVING count(*) > 1
ORDER BY subject, place, first_seq, last_seq, detail
