-- code: BUS-A04
-- title: Approvals were asked for and used, and none is on record
-- severity: high
-- applies: busbar sqlite 9-12, busbar postgres 10-11
-- params: lifetime hugeint = 300
-- examines: audit.calls
-- proves: Calls that waited for an approval were followed by a dispatched call to the same tool within its lifetime,
--   and no redeemed approval is stored.
-- does not prove: That an approval was used twice; nor that these calls needed one still: the rule may have been
--   lifted, or the store upgraded since.
-- meaning: That an approval works once only was not kept in the store: it is forgotten at a restart.
-- next: Redeem one approval and look whether the table has it; if not, see the write path (BUS-D01).
WITH asked AS (
    SELECT population, scope, seq, ts, tool, reason, outcome,
        min(CASE WHEN outcome = 'dispatched' THEN ts END) OVER (PARTITION BY population, scope, tool ORDER BY seq, row
            ROWS BETWEEN 1 FOLLOWING AND UNBOUNDED FOLLOWING) AS done
    FROM audit.calls
    -- An approval on record ends the matter before anything is sorted.
    WHERE decodable AND (SELECT count(*) FROM audit.approvals) = 0
        AND tool IN (SELECT tool FROM audit.calls WHERE reason = 'caller_ask_pending')
)
SELECT population AS subject, scope AS place, min(seq) AS first_seq, max(seq) AS last_seq, count(*) AS records,
    count(*) || ' call(s) waited for an approval and went through within ' || $lifetime || ' s, no approval is on record' AS detail
FROM asked WHERE reason = 'caller_ask_pending' AND done - ts BETWEEN 0 AND $lifetime
GROUP BY population, scope
ORDER BY subject, place, first_seq, last_seq, detail
