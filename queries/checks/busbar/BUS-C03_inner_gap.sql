-- code: BUS-C03
-- title: Records are missing inside a chain
-- severity: critical
-- applies: busbar sqlite 5-12, busbar postgres 6-11
-- params: none
-- examines: audit.chain_records
-- proves: The sequence jumps inside a chain.
-- does not prove: That they were deleted: a purge by time can take the middle of a chain whose clock went back, and the
--   admin audit can lose entries in an outage (BUSBAR-1005).
-- meaning: Evidence that was there is gone.
-- next: Look for BUSBAR-1005 in the gateway log around that time, for a clock that went back (BUS-C10), and for a backup
--   that still has the records.
SELECT f.population AS subject, f.scope AS place, f.first_seq, f.last_seq, f.records,
    f.records || ' record(s) missing between ' || (f.first_seq - 1) || ' and ' || (f.last_seq + 1) || '; '
    || CASE WHEN g.prev_hash = g.previous_hash THEN 'the next record links over the gap: renumbered'
        WHEN g.prev_hash = '' THEN 'the next record starts a new lineage'
        ELSE 'the next record names a record that is not there' END AS detail
FROM audit.chain_faults AS f
JOIN audit.chain_flags AS g ON g.population = f.population AND g.scope = f.scope AND g.seq = f.seq AND g.gap
WHERE f.about = 'gap-inner'
ORDER BY subject, place, first_seq, last_seq, detail
