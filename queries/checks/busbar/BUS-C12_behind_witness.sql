-- code: BUS-C12
-- title: A chain is behind its witness
-- severity: critical
-- applies: busbar sqlite 5-12, busbar postgres 6-11
-- params: none
-- needs: --witness
-- examines: audit.witnessed
-- proves: A chain ends before the record witnessed earlier, has another hash there, or has lost that record from inside.
-- does not prove: Anything about chains the witness never saw, nor about records older than the witnessed one.
-- meaning: The end of a chain was cut off, history was written anew with every digest recomputed, or an older copy was restored.
-- next: Restore the records from a backup; the witness tells up to where they were right. If an older copy was restored on purpose,
--   `busbar-audit witness adopt` says so.
SELECT population AS subject, scope AS place,
    CASE WHEN standing = 'behind' THEN now_last_seq + 1 ELSE last_seq END AS first_seq, last_seq,
    CASE WHEN standing = 'behind' THEN last_seq - now_last_seq ELSE 1 END AS records,
    CASE standing WHEN 'behind' THEN 'ends at ' || now_last_seq || ', witnessed up to ' || last_seq
        WHEN 'rewritten' THEN 'the witnessed record has another hash'
        ELSE 'the witnessed record is gone from inside the chain' END AS detail
FROM audit.witnessed WHERE standing IN ('behind', 'rewritten', 'hole')
ORDER BY subject, place, first_seq, last_seq, detail
