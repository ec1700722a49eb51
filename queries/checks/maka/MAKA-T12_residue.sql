-- code: MAKA-T12
-- title: A deleted session still has content
-- severity: low
-- applies: maka sqlite 11-18
-- params: none
-- examines: raw.session_metadata_tombstones
-- proves: Events or rows of a session with a tombstone are there.
-- does not prove: That it is shown.
-- meaning: What the user deleted is still in the file.
-- next: Let the application finish its cleanup, and audit again.
SELECT 'session_metadata_tombstones' AS subject, t.session_id AS place, CAST(NULL AS BIGINT) AS first_seq, CAST(NULL AS BIGINT) AS last_seq, coalesce(e.n, 0) + coalesce(m.n, 0) AS records,
    coalesce(e.n, 0) || ' event(s), ' || coalesce(m.n, 0) || ' row(s)' AS detail
FROM raw.session_metadata_tombstones AS t LEFT JOIN (SELECT session_id, count(*) AS n FROM audit.ledger_events GROUP BY session_id) AS e ON e.session_id = t.session_id
    LEFT JOIN (SELECT session_id, count(*) AS n FROM audit.legacy_rows GROUP BY session_id) AS m ON m.session_id = t.session_id
WHERE coalesce(e.n, 0) + coalesce(m.n, 0) > 0
ORDER BY subject, place, first_seq, last_seq, detail
