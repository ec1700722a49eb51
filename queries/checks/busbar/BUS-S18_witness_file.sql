-- code: BUS-S18
-- title: The witness is not as it was left
-- severity: high
-- applies: busbar sqlite 5-12, busbar postgres 6-11
-- params: none
-- needs: --witness
-- examines: source.witness_file
-- proves: The witness file was changed or cut short by something else, is gone though an earlier report names it, or is newer than the
--   copy that is audited (then low).
-- does not prove: Who did it.
-- meaning: What the witness would have told cannot be relied on. A newer one means that a clock went back or an old copy is audited.
-- next: Get the file from a backup. If it is lost, `busbar-audit witness adopt` begins a new one, and says so for ever.
SELECT 'witness' AS subject, file AS place, CAST(NULL AS BIGINT) AS first_seq, CAST(NULL AS BIGINT) AS last_seq, 1 AS records,
    CASE WHEN status IN ('edited', 'missing') THEN detail ELSE 'it was written at ' || updated || ', the copy is of ' || taken_at END AS detail,
    CASE WHEN status IN ('edited', 'missing') THEN 'high' ELSE 'low' END AS severity
FROM source.witness_file WHERE status IN ('edited', 'missing') OR updated > taken_at + 300
ORDER BY subject, place, first_seq, last_seq, detail
