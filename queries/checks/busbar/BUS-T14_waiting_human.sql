-- code: BUS-T14
-- title: Tasks that wait for a person
-- severity: info
-- applies: busbar sqlite 8-12, busbar postgres 10-11
-- params: as_of hugeint
-- examines: audit.tasks
-- proves: The task is in input-required or auth-required.
-- does not prove: A fault: this is what the state is for.
-- meaning: Somebody has to answer. Such tasks outlive every purge, however old they are.
-- next: Tell the people; cancel what nobody needs any more.
SELECT population AS subject, task_id AS place, CAST(NULL AS BIGINT) AS first_seq, CAST(NULL AS BIGINT) AS last_seq, 1 AS records,
    state || ' since ' || updated_at || ', ' || greatest(($as_of - updated_at) // 86400, 0) || ' day(s); principal ' || left(principal, 60) AS detail
FROM audit.tasks WHERE decodable AND class = 'interrupted'
ORDER BY subject, place, first_seq, last_seq, detail
