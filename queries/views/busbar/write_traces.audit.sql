-- view: write_traces
-- kind: part
-- about: one row a trace of the write path: the population it speaks about, what was seen (trace), how often, and when first and last.
-- applies: busbar sqlite 5-12, busbar postgres 6-11
WITH seen AS (
    SELECT max(ts) AS last_ts, count(*) FILTER (starts_with(action, 'key.')) AS of_keys FROM audit.admin_audit WHERE decodable
), changes AS (
    SELECT CAST(created_at AS HUGEINT) AS ts FROM audit.keys
    UNION ALL
    SELECT deleted_at FROM audit.keys
    UNION ALL
    SELECT created_at FROM raw.denylist
)
SELECT 'admin audit' AS population, 'keys changed after its end' AS trace, count(*) AS records, min(ts) AS first_at, max(ts) AS last_at
-- Only where the audit has told of keys before does its silence about them say anything.
FROM changes, seen WHERE of_keys > 0 AND ts > last_ts + 86400 HAVING count(*) > 0
UNION ALL
SELECT 'admin audit', 'begins again', count(*), min(ts), max(ts) FROM audit.audit_fields WHERE decodable AND prev_hash = '' AND seq > 1
HAVING count(*) > 0
