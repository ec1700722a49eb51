-- code: BUS-M08
-- title: A caller is not among the keys
-- severity: low
-- applies: busbar sqlite 7-12, busbar postgres 10-11
-- params: none
-- examines: audit.calls
-- proves: No key row has this id; tombstones count as present.
-- does not prove: Misuse: other kinds of identity exist.
-- meaning: The caller came by another identity, or its key row was removed.
-- next: Check the identity with the gateway configuration.
SELECT population AS subject, scope AS place, min(seq) AS first_seq, max(seq) AS last_seq, count(*) AS records,
    count(*) || ' call(s) of a principal without a key row' AS detail
FROM audit.calls WHERE principal NOT IN (SELECT id FROM raw.keys WHERE id IS NOT NULL)
GROUP BY population, scope
ORDER BY subject, place, first_seq, last_seq, detail
