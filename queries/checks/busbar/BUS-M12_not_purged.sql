-- code: BUS-M12
-- title: Calls older than the cutoff are still there
-- severity: low
-- applies: busbar sqlite 7-12, busbar postgres 10-11
-- params: calls_cutoff hugeint
-- needs: calls_cutoff
-- examines: audit.calls
-- proves: Calls are older than the cutoff of the policy.
-- does not prove: A fault of the gateway: it schedules no purge by itself.
-- meaning: The retention that was declared was not carried out; the table grows.
-- next: Run the purge, or change the policy.
SELECT population AS subject, '' AS place, CAST(NULL AS BIGINT) AS first_seq, CAST(NULL AS BIGINT) AS last_seq, count(*) AS records,
    count(*) || ' call(s) of ' || count(DISTINCT scope) || ' caller(s) older than ' || $calls_cutoff || ', the oldest at ' || min(ts) AS detail
FROM audit.calls WHERE ts < $calls_cutoff
GROUP BY population
ORDER BY subject, place, first_seq, last_seq, detail
