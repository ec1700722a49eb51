-- code: MAKA-L09
-- title: Times of a session's rows go back
-- severity: info
-- applies: maka sqlite 8-18
-- params: none
-- examines: audit.legacy_rows
-- proves: A row is dated before the one it follows.
-- does not prove: A fault: clocks and late results do this.
-- meaning: Conversion orders a turn by time, so rows may change places.
-- next: Look at the turn before an upgrade.
WITH timed AS (SELECT *, lag(message_ts) OVER (PARTITION BY session_id ORDER BY sequence) AS before FROM audit.legacy_rows)
SELECT 'session_messages' AS subject, session_id AS place, min(sequence) AS first_seq, max(sequence) AS last_seq, count(*) AS records,
    count(*) || ' row(s) dated before the one they follow' AS detail
FROM timed WHERE message_ts < before GROUP BY session_id
ORDER BY subject, place, first_seq, last_seq, detail
