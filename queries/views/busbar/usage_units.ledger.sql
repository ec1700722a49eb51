-- view: usage_units
-- kind: part
-- about: one row of a named unit of usage, and whether the usage row it belongs to is there.
-- applies: busbar postgres 10-11
SELECT 'usage_window_units' AS subject, u.bucket_id AS place, CAST(u.window_start AS VARCHAR) AS bucket, u.model, u.unit, u.count AS amount,
    w.window_start IS NOT NULL AS parent
FROM raw.usage_ledger_units AS u
LEFT JOIN raw.usage_ledger AS w ON w.window_start = u.window_start AND w.bucket_id = u.bucket_id AND w.model = u.model
