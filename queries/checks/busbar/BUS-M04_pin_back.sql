-- code: BUS-M04
-- title: A pin generation goes back
-- severity: low
-- applies: busbar sqlite 7-12, busbar postgres 10-11
-- params: none
-- examines: audit.calls
-- proves: pin_generation is lower than in an earlier call of the same principal to the same server.
-- does not prove: An insertion: the counter may begin anew with the process.
-- meaning: The configuration was rolled back, or a record was inserted.
-- next: Compare with the configuration history.
WITH steps AS (
    SELECT population, scope, server, seq, pin_generation,
        lag(pin_generation) OVER (PARTITION BY population, scope, server ORDER BY seq, row) AS previous
    FROM audit.calls WHERE decodable
)
SELECT population AS subject, scope AS place, min(seq) AS first_seq, max(seq) AS last_seq, count(*) AS records,
    count(*) || ' step(s) back at server ' || left(server, 60) AS detail
FROM steps WHERE pin_generation < previous
GROUP BY population, scope, server
ORDER BY subject, place, first_seq, last_seq, detail
