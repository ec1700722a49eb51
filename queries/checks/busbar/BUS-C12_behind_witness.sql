-- code: BUS-C12
-- title: A chain is behind its witness
-- severity: critical
-- applies: busbar sqlite 5-12, busbar postgres 6-11
-- params: none
-- needs: --witness
-- examines: source.witness
-- proves: A chain ends before the position witnessed earlier, or has another hash there.
-- does not prove: Anything about chains the witness never saw.
-- meaning: The end of a chain was cut off, or history was rewritten with every digest recomputed.
-- next: Restore the records from a backup; the witness tells up to where they were right.
SELECT w.population AS subject, w.scope AS place, w.last_seq AS first_seq, w.last_seq, 1 AS records,
    CASE WHEN r.seq IS NULL THEN 'the witnessed record is gone' ELSE 'the witnessed record has another hash' END AS detail
FROM source.witness AS w
LEFT JOIN audit.chain_records AS r ON r.population = w.population AND r.scope = w.scope AND r.seq = w.last_seq
WHERE r.seq IS NULL OR r.hash IS DISTINCT FROM w.last_hash
ORDER BY subject, place, first_seq, last_seq, detail
