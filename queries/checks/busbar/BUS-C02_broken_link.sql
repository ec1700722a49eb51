-- code: BUS-C02
-- title: A record does not link to the one before it
-- severity: critical
-- applies: busbar sqlite 5-12, busbar postgres 6-11
-- params: none
-- examines: audit.chain_records
-- proves: prev_hash is not the hash of the record before it, and both are there.
-- does not prove: Which of the two was replaced.
-- meaning: A record was replaced, or two histories were joined.
-- next: Take both records as evidence; compare with a backup or a witness.
SELECT e.population AS subject, e.scope AS place, e.first_seq, e.last_seq, e.records,
    e.records || ' record(s) do not link to the one before' AS detail
FROM audit.chain_extents AS e
WHERE e.about = 'link'
ORDER BY subject, place, first_seq, last_seq, detail
