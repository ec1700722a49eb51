-- view: write_traces
-- kind: part
-- about: one row a trace of the write path: the population it speaks about, what was seen (trace), how often, and when first and last.
-- applies: busbar sqlite 9-12, busbar postgres 10-11
WITH kept AS (
    -- One redemption leaves a row until the next: after the last row has expired none was recorded. A call of the plane
    -- records, or one after a demotion, was made when the table was there already; before an upgrade it was not.
    SELECT (SELECT coalesce(max(expires_at), 0) FROM audit.approvals) AS until, (SELECT min(recorded_at) FROM audit.demotions) AS since
), later AS (
    SELECT population, scope, tool, seq, row, ts, reason = 'caller_ask_pending' AS asks, outcome = 'dispatched' AS goes,
        population = 'call' OR coalesce(ts > kept.since, false) AS kept_then
    FROM audit.calls, kept
    WHERE decodable AND ts > kept.until AND tool IN (SELECT tool FROM audit.calls WHERE reason = 'caller_ask_pending')
), placed AS (
    SELECT *, lead(goes) OVER line AND lead(ts) OVER line - ts BETWEEN 0 AND 300 AS granted, lead(ts) OVER line AS done,
        coalesce(lag(asks) OVER line AND ts - lag(ts) OVER line BETWEEN 0 AND 300, false) AS answered,
        coalesce(bool_or(asks) OVER (line ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), false) AS ruled,
        max(CASE WHEN asks THEN ts END) OVER (PARTITION BY population, scope, tool) AS asked_last
    FROM later WINDOW line AS (PARTITION BY population, scope, tool ORDER BY seq, row)
), lines AS (
    SELECT count(*) FILTER (asks AND granted) AS pairs, min(ts) FILTER (asks AND granted) AS first_at, max(done) FILTER (asks AND granted) AS last_at,
        -- The rule held for every call of this caller and tool, and holds still: nothing went through unasked, and the next
        -- call after was asked for again. Otherwise it may depend on what the call was about, or have been lifted.
        count(*) FILTER (asks AND granted AND kept_then AND asked_last > done) AS sure, bool_or(goes AND ruled AND NOT answered) AS loose
    FROM placed GROUP BY population, scope, tool HAVING bool_or(asks)
), counted AS (
    SELECT unnest([
        {'population': 'approvals', 'trace': 'used after its end', 'records': sum(sure) FILTER (NOT loose),
            'first_at': min(first_at) FILTER (NOT loose AND sure > 0), 'last_at': max(last_at) FILTER (NOT loose AND sure > 0)},
        {'population': 'approvals', 'trace': 'perhaps used after its end', 'records': sum(pairs) FILTER (loose OR sure = 0),
            'first_at': min(first_at) FILTER (loose OR sure = 0), 'last_at': max(last_at) FILTER (loose OR sure = 0)}
    ], max_depth := 2) FROM lines
)
SELECT population, trace, CAST(records AS BIGINT) AS records, first_at, last_at FROM counted WHERE records > 0
UNION ALL
SELECT 'approvals', 'two gateway generations', count(*), NULL, NULL
FROM audit.approvals WHERE kind IN ('ask', 'approval') HAVING count(DISTINCT kind) = 2
