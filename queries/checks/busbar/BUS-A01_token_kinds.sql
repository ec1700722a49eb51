-- code: BUS-A01
-- title: Approvals of two gateway generations
-- severity: medium
-- applies: busbar sqlite 10-12, busbar postgres 10-11
-- params: none
-- examines: audit.approvals
-- proves: Tokens of the kinds ask and approval are both there.
-- does not prove: That one was spent twice.
-- meaning: Two generations of the gateway write to this store: a token spent under one name can be spent again under
--   the other.
-- next: Let one generation only use the store; look for the same nonce under both kinds.
SELECT any_value(source) AS subject, 'ask, approval' AS place, CAST(NULL AS BIGINT) AS first_seq, CAST(NULL AS BIGINT) AS last_seq, count(*) AS records,
    count(*) FILTER (kind = 'ask') || ' of kind ask, ' || count(*) FILTER (kind = 'approval') || ' of kind approval' AS detail
FROM audit.approvals WHERE kind IN ('ask', 'approval') HAVING count(DISTINCT kind) = 2
ORDER BY subject, place, first_seq, last_seq, detail
