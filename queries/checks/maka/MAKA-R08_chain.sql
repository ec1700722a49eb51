-- code: MAKA-R08
-- title: The admissions of a session are not one line
-- severity: high
-- applies: maka sqlite 11-18
-- params: none
-- examines: audit.admissions
-- proves: There is no single first turn, a turn has two successors, or a predecessor is missing.
-- does not prove: Which is right.
-- meaning: Recovery refuses the session.
-- next: Compare with a backup.
WITH lines AS (
    SELECT session_id, count(*) FILTER (previous_turn_id IS NULL) AS roots,
        count(previous_turn_id) - count(DISTINCT previous_turn_id) AS forks, count(*) AS n,
        count(previous_turn_id) FILTER (previous_turn_id NOT IN (SELECT turn_id FROM audit.admissions)) AS lost
    FROM audit.admissions WHERE valid GROUP BY session_id
)
SELECT 'core_root_turn_admissions' AS subject, session_id AS place, CAST(NULL AS BIGINT) AS first_seq, CAST(NULL AS BIGINT) AS last_seq, n AS records,
    roots || ' first turn(s), ' || forks || ' fork(s), ' || lost || ' missing predecessor(s)' AS detail
FROM lines WHERE roots <> 1 OR forks <> 0 OR lost <> 0
ORDER BY subject, place, first_seq, last_seq, detail
