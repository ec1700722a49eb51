-- code: MAKA-B19
-- title: An invocation that has not ended
-- severity: info
-- applies: maka sqlite 11-18
-- params: none
-- examines: audit.openings
-- proves: It has no terminal.
-- does not prove: That anything is wrong: it may be running.
-- meaning: Running now, waiting for recovery, or an unfinished conversion (MAKA-D06).
-- next: Nothing while the application runs; else start it and audit again.
SELECT 'openings' AS subject, o.invocation_id AS place, CAST(NULL AS BIGINT) AS first_seq, CAST(NULL AS BIGINT) AS last_seq, 1 AS records,
    'session ' || o.session_id || ', run ' || o.run_id || ', turn ' || o.turn_id AS detail
FROM audit.openings AS o ANTI JOIN audit.terminals AS t ON t.invocation_id = o.invocation_id
WHERE o.problem IS NULL
ORDER BY subject, place, first_seq, last_seq, detail
