-- code: MAKA-B06
-- title: The places of an invocation's events go back
-- severity: high
-- applies: maka sqlite 11-18
-- params: none
-- examines: audit.ledger_events
-- proves: A later event of the invocation stands before an earlier one.
-- does not prove: That a reader shows it differently: two swapped places look the same to both.
-- meaning: Order in the session and order in the invocation disagree (V14).
-- next: Compare with a backup.
WITH placed AS (
    SELECT *, lag(ordinal) OVER (PARTITION BY invocation_id ORDER BY seq) AS before FROM audit.ledger_events WHERE ordinal IS NOT NULL
)
SELECT 'runtime_events' AS subject, invocation_id AS place, min(seq) AS first_seq, max(seq) AS last_seq, count(*) AS records,
    'session ' || min(session_id) || ': ' || count(*) || ' event(s) stand before the one they follow' AS detail
FROM placed WHERE ordinal < before GROUP BY invocation_id
ORDER BY subject, place, first_seq, last_seq, detail
