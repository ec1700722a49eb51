-- code: BUS-C06
-- title: A chain begins anew in its middle
-- severity: high
-- applies: busbar sqlite 5-12, busbar postgres 6-11
-- params: none
-- examines: audit.chain_records
-- proves: A record after the first has no prev_hash.
-- does not prove: Tampering: the gateway restarts the admin audit so after a verification that failed at its start.
-- meaning: Everything before that record is no longer tied to what follows.
-- next: Look for BUSBAR-2001 in the gateway log at that time, and for the break that caused it.
SELECT e.population AS subject, e.scope AS place, e.first_seq, e.last_seq, e.records,
    e.records || ' record(s) begin a new lineage at a number above 1' AS detail
FROM audit.chain_extents AS e
WHERE e.about = 'restart'
ORDER BY subject, place, first_seq, last_seq, detail
