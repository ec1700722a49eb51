-- code: MAKA-B20
-- title: Live text of a run that has ended
-- severity: low
-- applies: maka sqlite 4-18
-- params: none
-- examines: raw.runtime_partial_snapshots
-- proves: A partial text was left behind.
-- does not prove: That the text is lost: its completed event may be there.
-- meaning: Shown nowhere; a run that was killed leaves such text.
-- next: Nothing; it goes with the session.
SELECT 'runtime_partial_snapshots' AS subject, p.stream_key AS place, CAST(NULL AS BIGINT) AS first_seq, CAST(NULL AS BIGINT) AS last_seq, 1 AS records,
    'session ' || p.session_id || ', run ' || p.run_id AS detail
FROM raw.runtime_partial_snapshots AS p SEMI JOIN audit.terminals AS t ON t.session_id = p.session_id AND t.run_id = p.run_id
ORDER BY subject, place, first_seq, last_seq, detail
