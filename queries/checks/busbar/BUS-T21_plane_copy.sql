-- code: BUS-T21
-- title: Typed rows of the store before the upgrade are not what the upgrade makes of them
-- severity: high
-- applies: busbar sqlite 10-12
-- params: none
-- needs: --before
-- examines: source.copy_rows
-- proves: A row of the earlier store has no plane record, or another one than the copy writes; or a row of mcp_calls is gone or changed.
-- does not prove: That the upgrade did it. What a purge or later use may have done as well is low.
-- meaning: The gateway goes on without the row, or with another one.
-- next: Take the row from the store before. Compare copies from right before and after the upgrade, not later ones.
SELECT kind AS subject, coalesce(identity, '') AS place, min(seq) AS first_seq, max(seq) AS last_seq, CAST(sum(rows) AS BIGINT) AS records,
    fate || ': ' || rule AS detail,
    CASE WHEN rule LIKE '%purged since%' OR (rule LIKE '%changed since%' AND kind <> 'task_events') OR kind = 'spent_ask_states' THEN 'low'
        ELSE 'high' END AS severity
FROM source.copy_rows WHERE fate IN ('lost', 'differs')
GROUP BY kind, identity, fate, rule
ORDER BY subject, place, first_seq, last_seq, detail
