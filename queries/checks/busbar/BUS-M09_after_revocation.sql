-- code: BUS-M09
-- title: Calls went through after the caller was revoked
-- severity: critical
-- applies: busbar sqlite 7-12, busbar postgres 10-11
-- params: grace hugeint = 300
-- examines: audit.calls
-- proves: A call was dispatched more than the grace time after its key was deleted or denied.
-- does not prove: Which node let it through.
-- meaning: Revocation was not enforced.
-- next: Find the node that did not learn of the revocation; treat what the calls did as done by an unauthorised party.
WITH revoked AS (
    -- Deleted before it was made (BUS-K02): when is not known.
    SELECT id AS principal, deleted_at AS since FROM raw.keys WHERE deleted_at >= created_at
    UNION ALL
    -- A time of 0 means that the time was never recorded.
    SELECT sub, created_at FROM raw.denylist WHERE created_at > 0
), earliest AS (SELECT principal, min(since) AS since FROM revoked GROUP BY principal)
SELECT c.population AS subject, c.scope AS place, min(c.seq) AS first_seq, max(c.seq) AS last_seq, count(*) AS records,
    count(*) || ' dispatched call(s) after ' || min(r.since) || ', the last at ' || max(c.ts) AS detail
FROM audit.calls AS c JOIN earliest AS r ON r.principal = c.principal
WHERE c.outcome = 'dispatched' AND c.ts > r.since + $grace
GROUP BY c.population, c.scope
ORDER BY subject, place, first_seq, last_seq, detail
