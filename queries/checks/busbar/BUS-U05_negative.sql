-- code: BUS-U05
-- title: A counter below zero
-- severity: high
-- applies: busbar sqlite 5-12, busbar postgres 6-11
-- params: none
-- examines: audit.usage_counters
-- proves: A counter of usage is negative.
-- does not prove: Which refund or edit did it.
-- meaning: Refunds took more than there was, or a counter overflowed.
-- next: Compare with a backup; correct the bill.
SELECT subject, coalesce(place, '') AS place, CAST(NULL AS BIGINT) AS first_seq, CAST(NULL AS BIGINT) AS last_seq, count(*) AS records,
    count(*) || ' counter(s) below zero: ' || string_agg(DISTINCT counter, ', ' ORDER BY counter) || '; lowest ' || min(amount) AS detail
FROM audit.usage_counters WHERE amount < 0
GROUP BY subject, place
ORDER BY subject, place, first_seq, last_seq, detail
