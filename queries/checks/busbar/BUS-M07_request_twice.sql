-- code: BUS-M07
-- title: A request id stands twice
-- severity: low
-- applies: busbar sqlite 7-12, busbar postgres 10-11
-- params: none
-- examines: audit.calls
-- proves: One principal has two calls with the same non-empty request id.
-- does not prove: A copy: a caller may retry under a new number.
-- meaning: A retry was recorded as a new call, or a record was copied.
-- next: Compare the calls; equal tool and time point to a retry.
WITH twice AS (
    SELECT population, scope, hash(request_id) AS mark FROM audit.calls WHERE request_id <> '' GROUP BY ALL HAVING count(*) > 1
), same AS (
    SELECT c.population, c.scope, min(c.seq) AS first_seq, max(c.seq) AS last_seq, count(*) AS records
    FROM audit.calls AS c SEMI JOIN twice AS t ON t.population = c.population AND t.scope = c.scope AND t.mark = hash(c.request_id)
    GROUP BY c.population, c.scope, c.request_id HAVING count(*) > 1
)
SELECT population AS subject, scope AS place, first_seq, last_seq, records, 'one request id in ' || records || ' calls' AS detail
FROM same
ORDER BY subject, place, first_seq, last_seq, detail
