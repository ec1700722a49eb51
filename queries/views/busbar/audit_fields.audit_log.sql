-- view: audit_fields
-- kind: part
-- about: one row an admin audit record of audit_log.
-- applies: busbar sqlite 5-12, busbar postgres 6-11
SELECT 'audit_log' AS population, 'audit_log' AS scope, seq, CAST(ts AS HUGEINT) AS ts, action, resource, outcome, principal, prev_hash, hash,
    (seq IS NOT NULL AND ts IS NOT NULL AND action IS NOT NULL AND resource IS NOT NULL AND outcome IS NOT NULL AND principal IS NOT NULL
        AND prev_hash IS NOT NULL AND hash IS NOT NULL) AS decodable,
    'typed' AS variant, CAST(seq AS HUGEINT) AS digest_seq, CAST(ts AS HUGEINT) AS digest_ts, CAST(NULL AS VARCHAR) AS content, _row AS row
FROM raw.audit_log
