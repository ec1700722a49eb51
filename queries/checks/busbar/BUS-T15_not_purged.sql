-- code: BUS-T15
-- title: Finished tasks older than the cutoff are still there
-- severity: low
-- applies: busbar sqlite 8-12, busbar postgres 10-11
-- params: cutoff hugeint
-- needs: cutoff
-- examines: audit.tasks
-- proves: Terminal tasks were last written before the cutoff of the policy.
-- does not prove: A fault of the gateway: it schedules no purge by itself.
-- meaning: The retention that was declared was not carried out; the table grows.
-- next: Run the purge, or change the policy.
SELECT population AS subject, state AS place, CAST(NULL AS BIGINT) AS first_seq, CAST(NULL AS BIGINT) AS last_seq, count(*) AS records,
    count(*) || ' ' || state || ' task(s) last written before ' || $cutoff || ', the oldest at ' || min(updated_at) AS detail
FROM audit.tasks WHERE decodable AND class = 'terminal' AND updated_at < $cutoff
GROUP BY population, state
ORDER BY subject, place, first_seq, last_seq, detail
