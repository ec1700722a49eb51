-- code: MAKA-R06
-- title: An admitted turn without a run
-- severity: low
-- applies: maka sqlite 11-18
-- params: none
-- examines: audit.admissions
-- proves: No invocation and no rejection of the turn is there.
-- does not prove: A fault where it is one: it is replayed at the next start.
-- meaning: Two or more in one session stop the host.
-- next: Start the application on a copy.
SELECT 'core_root_turn_admissions' AS subject, a.session_id AS place, CAST(NULL AS BIGINT) AS first_seq, CAST(NULL AS BIGINT) AS last_seq, count(*) AS records,
    count(*) || ' turn(s), the first ' || min(a.turn_id) AS detail
FROM audit.admissions AS a ANTI JOIN audit.openings AS o ON o.session_id = a.session_id AND o.turn_id = a.turn_id
    ANTI JOIN audit.rejections AS x ON x.session_id = a.session_id AND x.turn_id = a.turn_id
GROUP BY a.session_id
ORDER BY subject, place, first_seq, last_seq, detail
