-- code: A2A-L06
-- title: Advisory locks of others in the same database
-- severity: info
-- applies: a2a postgres 13-14
-- params: none
-- examines: source.relations
-- proves: An advisory lock of one eight-byte key is held whose key belongs to no task of this store.
-- does not prove: Whose it is; a task may just be deleted.
-- meaning: Two users of one key only wait for each other.
-- next: Nothing, unless waits are seen.
SELECT 'advisory locks' AS subject, 'others' AS place, CAST(NULL AS BIGINT) AS first_seq, CAST(NULL AS BIGINT) AS last_seq, count(*) AS records,
    count(*) || ' key(s) that belong to no task' AS detail
FROM source.advisory_locks WHERE task_id IS NULL HAVING count(*) > 0
ORDER BY subject, place, first_seq, last_seq, detail
