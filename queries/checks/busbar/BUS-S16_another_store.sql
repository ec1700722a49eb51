-- code: BUS-S16
-- title: The store that was witnessed here has been replaced by another
-- severity: high
-- applies: busbar sqlite 5-12, busbar postgres 6-11
-- params: none
-- needs: --witness
-- examines: audit.identity_marks
-- proves: The place is that of a witnessed store, and none of its keys and none of its chains are there now.
-- does not prove: What became of the other store.
-- meaning: The gateway may have begun an empty store, as a relative path of its database does when it is started elsewhere.
-- next: Look for the other file. If the change was meant, `busbar-audit witness adopt` says so.
SELECT 'store' AS subject, '' AS place, CAST(NULL AS BIGINT) AS first_seq, CAST(NULL AS BIGINT) AS last_seq, 1 AS records,
    'none of ' || marks || ' witnessed key(s) and ' || chains || ' witnessed chain(s) is here' AS detail
FROM audit.witness_identity WHERE replaced
ORDER BY subject, place, first_seq, last_seq, detail
