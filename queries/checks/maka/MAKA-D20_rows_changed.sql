-- code: MAKA-D20
-- title: Legacy rows are not what they were before
-- severity: critical
-- applies: maka sqlite 8-18
-- params: none
-- needs: --before
-- examines: source.before_rows
-- proves: A row of the earlier store is gone or has another record, or stands inside a session where there was none.
-- does not prove: Who changed it. Legal and info: rows after the last one that the earlier store had of a session, which an
--   application in use or an import appends (a turn_state of the header-era converter, C0, too), and rows that went with a session that was deleted.
-- meaning: A conversion leaves the rows as they are; here the evidence was changed.
-- next: Go back to the earlier store.
WITH ended AS (
    SELECT session_id, max(sequence) AS last FROM source.before_rows GROUP BY session_id
), compared AS (
    SELECT coalesce(b.session_id, r.session_id) AS session_id, coalesce(b.sequence, r.sequence) AS sequence,
        CASE WHEN r.session_id IS NULL AND d.session_id IS NOT NULL THEN 'gone with the session, which was deleted'
            WHEN r.session_id IS NULL THEN 'gone' WHEN b.session_id IS NOT NULL THEN 'changed'
            WHEN r.sequence < e.last THEN 'added'
            WHEN e.last IS NOT NULL AND r.type = 'turn_state' AND r.status = 'failed' THEN 'ending added' ELSE 'appended' END AS what
    FROM source.before_rows AS b FULL JOIN audit.legacy_rows AS r ON r.session_id = b.session_id AND r.sequence = b.sequence
        LEFT JOIN ended AS e ON e.session_id = r.session_id LEFT JOIN audit.deleted_sessions AS d ON d.session_id = b.session_id
    WHERE b.digest IS DISTINCT FROM r.digest
)
SELECT 'session_messages' AS subject, session_id AS place, min(sequence) AS first_seq, max(sequence) AS last_seq, count(*) AS records,
    count(*) || ' row(s) ' || what AS detail, CASE WHEN what IN ('gone', 'changed', 'added') THEN 'critical' ELSE 'info' END AS severity
FROM compared GROUP BY session_id, what
ORDER BY subject, place, first_seq, last_seq, detail
