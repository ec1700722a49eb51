-- code: BUS-U12
-- title: The money ledger is not whole
-- severity: high
-- applies: busbar sqlite 11-12, busbar postgres 11
-- params: none
-- examines: audit.money_journal
-- proves: A journal stream does not run from 1 without a gap; or a slot has slices and no row of what was used, or
--   more used than its cap.
-- does not prove: Loss of money. A cap that was lowered later leaves more used than allowed, so that is low; slices
--   without use are medium.
-- meaning: Entries of the ledger are missing, or amounts do not fit together.
-- next: Compare the journal with a backup; do not close the books of that time before it is explained.
WITH streams AS (
    SELECT stream, min(seq) AS lowest, max(seq) AS highest, count(DISTINCT seq) AS present FROM audit.money_journal WHERE stream IS NOT NULL AND seq IS NOT NULL GROUP BY stream
)
SELECT 'journal' AS subject, stream AS place, least(lowest, 1) AS first_seq, highest AS last_seq,
    abs(CAST(highest AS HUGEINT) - present) AS records,
    'seq runs from ' || lowest || ' to ' || highest || ' with ' || present || ' record(s)' AS detail, 'high' AS severity
FROM streams WHERE lowest <> 1 OR highest <> present
UNION ALL
SELECT 'money_used', u.slot, NULL, NULL, 1, 'used ' || audit.unsigned(u.used) || ', cap ' || audit.unsigned(u.cap), 'low'
FROM audit.money_use AS u WHERE audit.unsigned(u.used) > audit.unsigned(u.cap)
UNION ALL
SELECT 'money_slices', s.slot, NULL, NULL, count(*), count(*) || ' slice(s) of a slot without a row of what was used', 'medium'
FROM raw.money_slices AS s ANTI JOIN audit.money_use AS u ON u.slot = s.slot WHERE s.slot IS NOT NULL GROUP BY s.slot
ORDER BY subject, place, first_seq, last_seq, detail
