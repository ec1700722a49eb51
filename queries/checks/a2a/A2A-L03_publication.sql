-- code: A2A-L03
-- title: A publication has one of the two tables only
-- severity: medium
-- applies: a2a postgres 1-14
-- params: none
-- examines: source.relations
-- proves: A publication contains the tasks and not the push configurations, or the other way round.
-- does not prove: That there is a subscriber.
-- meaning: On a subscriber the two tables drift apart.
-- next: Publish both tables or none.
SELECT 'publications' AS subject, name AS place, CAST(NULL AS BIGINT) AS first_seq, CAST(NULL AS BIGINT) AS last_seq, 1 AS records, 'only ' || CASE WHEN tasks THEN 'the tasks' ELSE 'the push configurations' END AS detail
FROM source.publications WHERE tasks <> configs
ORDER BY subject, place, first_seq, last_seq, detail
