-- view: write_traces
-- kind: part
-- about: one row a trace of the write path: the population it speaks about, what was seen (trace), how often, and when first and last.
-- applies: busbar sqlite 9-12, busbar postgres 10-11
WITH kept AS (
    -- One redemption leaves a row until the next: after the last row has expired none was recorded. A call of the plane
    -- records, or one after a demotion, was made when the table was there already; before an upgrade it was not.
    SELECT (SELECT coalesce(max(expires_at), 0) FROM audit.approvals) AS until, (SELECT min(recorded_at) FROM audit.demotions) AS since
), asked AS (
    SELECT population, scope, tool, ts, reason,
        min(CASE WHEN outcome = 'dispatched' THEN ts END) OVER (PARTITION BY population, scope, tool ORDER BY seq, row
            ROWS BETWEEN 1 FOLLOWING AND UNBOUNDED FOLLOWING) AS done,
        max(CASE WHEN reason = 'caller_ask_pending' THEN ts END) OVER (PARTITION BY population, scope, tool) AS asked_last
    FROM audit.calls, kept
    WHERE decodable AND ts > kept.until AND (population = 'call' OR ts > kept.since)
        AND tool IN (SELECT tool FROM audit.calls WHERE reason = 'caller_ask_pending')
)
-- Asked for again afterwards: the rule was not lifted in between.
SELECT 'approvals' AS population, 'used after its end' AS trace, count(*) AS records, min(ts) AS first_at, max(done) AS last_at
FROM asked WHERE reason = 'caller_ask_pending' AND done - ts BETWEEN 0 AND 300 AND asked_last > done HAVING count(*) > 0
UNION ALL
SELECT 'approvals', 'two gateway generations', count(*), NULL, NULL
FROM audit.approvals WHERE kind IN ('ask', 'approval') HAVING count(DISTINCT kind) = 2
