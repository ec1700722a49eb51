-- code: BUS-C25
-- title: The store holds what a receipt says was purged
-- severity: medium
-- applies: busbar sqlite 8-12, busbar postgres 10-11
-- params: receipt_calls hugeint = -1, receipt_tasks hugeint = -1
-- needs: receipts
-- examines: audit.chain_records
-- proves: A receipt of the policy tells of a purge by a cutoff, and calls older than that cutoff, or tasks that had ended before it, are
--   there.
-- does not prove: Which of both is wrong: the purge failed or ran elsewhere, an older copy was restored since, the clock went back behind the
--   cutoff after the purge, or the receipt is mistaken.
-- meaning: The receipt and the store do not add up.
-- next: Compare with the log of the purge. `busbar-audit retention --since REPORT` holds the counts of receipts against what went.
SELECT population AS subject, '' AS place, CAST(NULL AS BIGINT) AS first_seq, CAST(NULL AS BIGINT) AS last_seq, count(*) AS records,
    count(*) || ' call(s) older than the receipt''s cutoff ' || $receipt_calls || ', the oldest at ' || min(ts) AS detail
FROM audit.calls WHERE ts < $receipt_calls
GROUP BY population
UNION ALL
SELECT population, '', NULL, NULL, count(*),
    count(*) || ' task(s) that had ended before the receipt''s cutoff ' || $receipt_tasks || ', the oldest at ' || min(updated_at)
FROM audit.tasks WHERE decodable AND class = 'terminal' AND updated_at < $receipt_tasks
GROUP BY population
ORDER BY subject, place, first_seq, last_seq, detail
