-- code: BUS-C10
-- title: Time goes back inside a chain
-- severity: medium
-- applies: busbar sqlite 5-12, busbar postgres 6-11
-- params: none
-- examines: audit.chain_records
-- proves: A record is older than the one before it by more than 300 seconds.
-- does not prove: Insertion: a clock that was set back looks the same.
-- meaning: The clock changed, or a record was inserted.
-- next: Compare with the clock history of the host. A purge by time can cut such a chain in its middle.
SELECT e.population AS subject, e.scope AS place, e.first_seq, e.last_seq, e.records,
    e.records || ' record(s) are older than the one before by more than the tolerance' AS detail
FROM audit.chain_extents AS e
WHERE e.about = 'order'
ORDER BY subject, place, first_seq, last_seq, detail
