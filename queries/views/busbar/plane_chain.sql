-- view: plane_chain
-- kind: table
-- about: one row a chained plane record (kinds call, task_event, audit): what the body says (digest_…, principal, task) and what the
--   row beside it says (scope, seq, row_ts).
-- applies: busbar sqlite 10-12, busbar postgres 10-11
SELECT f.*, p.ts AS row_ts FROM (
    SELECT population, scope, seq, ts, prev_hash, hash, decodable, CAST(digest_seq AS HUGEINT) AS digest_seq,
        principal AS body_scope, CAST(NULL AS VARCHAR) AS digest_version, row
    FROM audit.call_fields WHERE population = 'call'
    UNION ALL
    SELECT population, scope, seq, ts, prev_hash, hash, decodable, digest_seq, task_id, digest_version, row
    FROM audit.event_fields WHERE population = 'task_event'
    UNION ALL
    SELECT population, scope, seq, ts, prev_hash, hash, decodable, digest_seq, NULL, NULL, row
    FROM audit.audit_fields WHERE population = 'audit'
) AS f JOIN audit.plane_rows AS p ON p._row = f.row
