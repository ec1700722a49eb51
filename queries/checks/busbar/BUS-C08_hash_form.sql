-- code: BUS-C08
-- title: A stored hash is not a digest
-- severity: high
-- applies: busbar sqlite 5-12, busbar postgres 6-11
-- params: none
-- examines: audit.chain_records
-- proves: hash or prev_hash is not 64 lower-case hexadecimal digits.
-- does not prove: Tampering: test data of the project carry placeholders.
-- meaning: The record proves nothing.
-- next: Find out whether these are test data; otherwise compare with a backup.
SELECT e.population AS subject, e.scope AS place, e.first_seq, e.last_seq, e.records,
    e.records || ' record(s) whose hash or prev_hash is not 64 lower-case hexadecimal digits' AS detail
FROM audit.chain_extents AS e
WHERE e.about = 'form'
ORDER BY subject, place, first_seq, last_seq, detail
