-- code: MAKA-D20
-- title: Legacy rows are not what they were before
-- severity: critical
-- applies: maka sqlite 8-18
-- params: none
-- needs: --before
-- examines: source.before_rows
-- proves: A row of the earlier store is gone or has another record, or stands where there was none.
-- does not prove: Who changed it. A turn_state that the header-era converter (C0) adds at a session's end is legal and info.
-- meaning: A conversion leaves the rows as they are; here the evidence was changed.
-- next: Go back to the earlier store.
WITH compared AS (
    SELECT coalesce(b.session_id, r.session_id) AS session_id, coalesce(b.sequence, r.sequence) AS sequence,
        CASE WHEN r.session_id IS NULL THEN 'gone' WHEN b.session_id IS NOT NULL THEN 'changed'
            WHEN r.type = 'turn_state' AND r.status = 'failed' THEN 'ending added' ELSE 'added' END AS what
    FROM source.before_rows AS b FULL JOIN audit.legacy_rows AS r ON r.session_id = b.session_id AND r.sequence = b.sequence
    WHERE b.digest IS DISTINCT FROM r.digest
)
SELECT 'session_messages' AS subject, session_id AS place, min(sequence) AS first_seq, max(sequence) AS last_seq, count(*) AS records,
    count(*) || ' row(s) ' || what AS detail, CASE WHEN what = 'ending added' THEN 'info' ELSE 'critical' END AS severity
FROM compared GROUP BY session_id, what
ORDER BY subject, place, first_seq, last_seq, detail
