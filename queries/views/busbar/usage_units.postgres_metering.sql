-- view: usage_units
-- kind: part
-- about: one row of a named unit of usage, and whether the usage row it belongs to is there.
-- applies: busbar postgres 10-11
SELECT 'usage_metering_units' AS subject, u.key_id AS place, CAST(u.bucket AS VARCHAR) AS bucket, u.model, u.unit, u.count AS amount,
    m.key_id IS NOT NULL AS parent
FROM raw.usage_metering_units AS u
LEFT JOIN raw.usage_metering AS m ON m.bucket = u.bucket AND m.key_id = u.key_id AND m.provider = u.provider AND m.model = u.model
    AND m.priced_from_ms = u.priced_from_ms
