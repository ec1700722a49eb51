-- view: push_configs
-- kind: table
-- about: one row a push configuration: its form (json, unreadable), scheme, host and kind of place of its callback, no secret.
-- applies: a2a-js postgres 1, a2a-js sqlite 1
SELECT s._rejected AS rejected, s.tenant, s.owner, s.task_id, s.config_id, s.protocol_version, p.* EXCLUDE (_row)
FROM raw.push_notification_configs AS s LEFT JOIN source.js_configs AS p ON p._row = s._row
