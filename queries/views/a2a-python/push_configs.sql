-- view: push_configs
-- kind: table
-- about: one row a push configuration: its form (json, fernet, unreadable), and of plain ones scheme, host and kind of place, no secret.
-- applies: a2a-python postgres 1-4, a2a-python sqlite 1-4
WITH stored AS (
    SELECT * FROM raw.push_notification_configs
    UNION ALL BY NAME
    SELECT CAST(NULL AS VARCHAR) AS owner, CAST(NULL AS VARCHAR) AS protocol_version WHERE false
)
SELECT s._rejected AS rejected, s.task_id, s.config_id, s.owner, s.protocol_version, p.* EXCLUDE (_row)
FROM stored AS s LEFT JOIN source.python_configs AS p ON p._row = s._row
