-- code: BUS-U07
-- title: Metering and windows of a key differ
-- severity: medium
-- applies: busbar sqlite 5-12, busbar postgres 6-11
-- params: percent bigint = 5, least bigint = 10
-- examines: audit.metering
-- proves: Over the time of a window, requests or tokens of a key in usage_windows and in usage_metering differ by
--   more than 5 percent.
-- does not prove: Which side is short. Where most windows of a key differ, the two count different things there, and
--   the finding is info.
-- meaning: What was used was lost on one of the two sides before it was written.
-- next: Look for BUSBAR-8008 in the gateway log of that day; bill by the other side.
WITH windows AS (
    SELECT bucket_id AS key_id, CAST(window_start AS HUGEINT) // 86400 * 86400 AS day, sum(requests) FILTER (model = '') AS requests, sum(tokens) AS tokens
    FROM audit.usage_windows WHERE bucket_id IS NOT NULL GROUP BY ALL
), spans AS (
    SELECT *, lead(day) OVER (PARTITION BY key_id ORDER BY day) AS next_day FROM windows
), days AS (
    SELECT key_id, day, sum(requests) AS requests, sum(tokens) AS tokens FROM audit.metering WHERE day IS NOT NULL GROUP BY ALL
), known AS (
    -- Metering is purged day by day, windows by age: a day that nobody has metering of tells nothing.
    SELECT DISTINCT day FROM days
), compared AS (
    SELECT s.key_id, s.day, s.requests AS w_requests, s.tokens AS w_tokens, sum(d.requests) AS m_requests, sum(d.tokens) AS m_tokens,
        (s.next_day - s.day) // 86400 AS length, (SELECT count(*) FROM known AS k WHERE k.day >= s.day AND k.day < s.next_day) AS metered
    FROM spans AS s JOIN days AS d ON d.key_id = s.key_id AND d.day >= s.day AND d.day < s.next_day
    -- The last window of a key is left out: both sides are written at different moments.
    WHERE s.next_day IS NOT NULL
    GROUP BY ALL
), judged AS (
    SELECT *, abs(w_requests - m_requests) > greatest($least, greatest(w_requests, m_requests) * $percent // 100) AS by_requests,
        abs(w_tokens - m_tokens) > greatest($least * 1000, greatest(w_tokens, m_tokens) * $percent // 100) AS by_tokens
    FROM compared WHERE metered = length
), shares AS (
    SELECT key_id, count(*) AS pairs, count(*) FILTER (by_requests OR by_tokens) AS wrong, count(*) FILTER (by_requests OR by_tokens) * 2 > count(*) AS most FROM judged GROUP BY key_id
)
SELECT 'usage_metering' AS subject, j.key_id AS place, CAST(NULL AS BIGINT) AS first_seq, CAST(NULL AS BIGINT) AS last_seq, count(*) AS records,
    count(*) || ' of ' || any_value(s.pairs) || ' window(s) differ, the first of ' || min(j.day) || ': ' || arg_min(w_requests, day) || ' request(s) and ' || arg_min(w_tokens, day)
    || ' token(s) in the window, ' || arg_min(m_requests, day) || ' and ' || arg_min(m_tokens, day) || ' metered' AS detail,
    CASE WHEN any_value(s.most) AND any_value(s.pairs) > 2 THEN 'info' ELSE 'medium' END AS severity
FROM judged AS j JOIN shares AS s ON s.key_id = j.key_id
WHERE j.by_requests OR j.by_tokens
GROUP BY j.key_id
ORDER BY subject, place, first_seq, last_seq, detail
