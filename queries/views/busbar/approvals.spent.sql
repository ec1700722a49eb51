-- view: approvals
-- kind: part
-- about: one row an approval that was redeemed, by kind; the nonce itself is not shown.
-- applies: busbar sqlite 9-12
SELECT 'spent_ask_states' AS source, 'approval' AS kind, CAST(expires_at AS HUGEINT) AS expires_at FROM raw.spent_ask_states
