-- code: MAKA-L10
-- title: Turns of a session are interleaved
-- severity: low
-- applies: maka sqlite 8-18
-- params: none
-- examines: audit.legacy_rows
-- proves: Rows of a turn come back after rows of another.
-- does not prove: That a conversion would cut it: that depends on its page edges.
-- meaning: A conversion in pages of 256 rows can take a turn for ended too early.
-- next: Convert a copy and compare the turn.
WITH turns AS (
    SELECT *, lag(turn_id) OVER (PARTITION BY session_id ORDER BY sequence) AS before,
        row_number() OVER (PARTITION BY session_id, turn_id ORDER BY sequence) AS nth,
        row_number() OVER (PARTITION BY session_id ORDER BY sequence) AS place
    FROM audit.legacy_rows WHERE turn_id IS NOT NULL
)
SELECT 'session_messages' AS subject, session_id AS place, min(sequence) AS first_seq, max(sequence) AS last_seq, count(*) AS records,
    count(DISTINCT turn_id) || ' turn(s) come back ' || count(*) || ' time(s), ' || (CASE WHEN max(place) > 256 THEN 'beyond' ELSE 'within' END) || ' the first page' AS detail
FROM turns WHERE turn_id <> before AND nth > 1 GROUP BY session_id
ORDER BY subject, place, first_seq, last_seq, detail
