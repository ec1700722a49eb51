-- code: BUS-D04
-- title: Admin audit records are missing, and what the gap looks like
-- severity: high
-- applies: busbar sqlite 5-12, busbar postgres 6-11
-- params: none
-- examines: audit.admin_audit
-- proves: Numbers are missing inside the admin audit, and the record after the gap does not link over it.
-- does not prove: Deletion: more than the 1000 entries that are held in an outage leave the same gap, announced once
--   as BUSBAR-1005.
-- meaning: What an administrator did in that time cannot be shown.
-- next: Look for BUSBAR-1005 and for a stop of the database in the gateway log of that time; without them take it for
--   a deletion.
WITH gaps AS (
    SELECT population, scope, seq, previous_seq + 1 AS first_seq, seq - 1 AS last_seq, prev_hash, ts - previous_ts AS seconds, previous_ts
    FROM audit.chain_flags WHERE gap AND population IN ('audit_log', 'audit') AND prev_hash IS DISTINCT FROM previous_hash
)
SELECT population AS subject, scope AS place, first_seq, last_seq, CAST(last_seq AS HUGEINT) - first_seq + 1 AS records,
    CASE WHEN prev_hash = '' THEN 'restart: the next record begins a new lineage, as the gateway does after a failed verification'
        ELSE 'the next record names one that is missing: an outage (BUSBAR-1005) or a deletion' END
    || coalesce('; ' || seconds || ' s between the records on both sides, from ' || previous_ts, '') AS detail
FROM gaps
ORDER BY subject, place, first_seq, last_seq, detail
