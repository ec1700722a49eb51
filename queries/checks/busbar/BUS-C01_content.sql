-- code: BUS-C01
-- title: The digest of a record is not that of its content
-- severity: critical
-- applies: busbar sqlite 5-12, busbar postgres 6-11
-- params: none
-- examines: audit.chain_records
-- proves: The digest recomputed from the stored fields differs from the stored one.
-- does not prove: Which of the two was changed, when, or by whom.
-- meaning: A record was changed after it was written. Where no digest of a whole population can be reproduced while all
--   links hold, the recipe or placeholder digests are the cause, and it is said so.
-- next: Take the record and its neighbours as evidence, compare with a backup, list who could write to the file.
SELECT e.population AS subject, e.scope AS place, e.first_seq, e.last_seq, e.records,
    CASE WHEN p.unreproducible THEN 'unreproducible: not one of the ' || p.records || ' digests of this population can be recomputed while every link holds; placeholder digests or an unknown recipe, not an edit'
        ELSE e.records || ' of ' || c.records || ' digests of the chain differ from their records' END AS detail,
    CASE WHEN p.unreproducible THEN 'medium' ELSE 'critical' END AS severity
FROM audit.chain_extents AS e
JOIN audit.chain_populations AS p ON p.population = e.population
JOIN audit.chains AS c ON c.population = e.population AND c.scope = e.scope
WHERE e.about = 'content'
ORDER BY subject, place, first_seq, last_seq, detail
